"""Plans the code of a kernel that is built and run here: `tau coldcode run` without a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.link_map import Piece, read_link_map
from tautochrone.coldcode.linux.build import Built
from tautochrone.coldcode.linux.patching import patched_while_booting
from tautochrone.coldcode.recording import CodeRecording
from tautochrone.coldcode.replay import Cache
from tautochrone.plan.code.making import for_part
from tautochrone.plan.code.pieces import code_of
from tautochrone.plan.code.planners import PLANNERS


def placer(
    threshold: float, frames: int, policy: str
) -> Callable[[Built, CodeRecording, Sequence[Piece]], Sequence[Sequence[Piece]]]:
    """A planner of `coldcode.linux.run`: that of `tau coldcode plan`, for T, frames and policy."""

    def place(
        built: Built, recording: CodeRecording, others: Sequence[Piece]
    ) -> Sequence[Sequence[Piece]]:
        kernel, pieces = read_kernel(built.vmlinux), read_link_map(built.link_map)
        code = code_of(kernel, pieces, [recording], patched_while_booting(kernel), others)
        planned = for_part(code, threshold, next(iter(PLANNERS)), Cache(frames, policy))
        return planned.page_pieces

    return place
