"""A plan is linked, and made again with the sizes that come out, until every function is on its
page; a kernel that was linked otherwise is named.

Method: a made kernel, planned with sizes that are too small by as much as longer calls make.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tautochrone.coldcode.fragment import fragment_text
from tautochrone.coldcode.link_map import Piece, read_link_map, with_larger_sizes
from tautochrone.coldcode.linux import build as building
from tautochrone.coldcode.linux import build_cache, settle
from tautochrone.coldcode.linux.build import Built, relink_of
from tautochrone.coldcode.planning import Planned
from testing.code_kernel import in_link_order
from tool.tests.coldcode import made_kernel

GROWTH_BYTES = 8


def linked(folder: Path, text: str) -> Built:
    """The made kernel with a fragment, under Linux's names."""
    kernel, map_path = made_kernel.build(folder, text)
    kernel.path.rename(folder / "vmlinux")
    map_path.rename(folder / "vmlinux.map")
    return Built(folder)


def planner_of(first: Built) -> Callable[[Sequence[Piece]], Planned]:
    """Plans in link order from sizes that are too small; a link's own sizes count."""
    pieces = [piece for piece in read_link_map(first.link_map) if piece.is_swappable]
    small = [replace(one, size_bytes=max(one.size_bytes - GROWTH_BYTES, 2)) for one in pieces]

    def plan(links: Sequence[Piece]) -> Planned:
        pages = in_link_order(with_larger_sizes(small, links))
        return cast(Planned, SimpleNamespace(page_pieces=pages))

    return plan


def test_a_plan_fits_as_it_is_linked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first link has more pages than planned. `tau coldcode plan` left it at that."""
    links: list[Built] = []

    def link(text: str) -> Built:
        links.append(linked(tmp_path / str(len(links)), text))
        return links[-1]

    plan = planner_of(linked(tmp_path / "plain", ""))
    planned = settle.settled(plan, link)
    assert 2 <= len(links) <= settle.LINKS_MAX
    assert capsys.readouterr().err.count("planning again") == len(links) - 1
    placement = tmp_path / "plan.lds"
    placement.write_text(fragment_text(planned.page_pieces))
    settle.warn_of_misplaced(links[-1], placement)
    assert not capsys.readouterr().err
    placement.write_text(fragment_text(plan([]).page_pieces))
    settle.warn_of_misplaced(links[0], placement)
    said = capsys.readouterr().err
    assert "not on the planned page" in said and f"--sizes {links[0].link_map}" in said


def test_a_plan_that_never_fits_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After LINKS_MAX links."""
    small = planner_of(linked(tmp_path / "plain", ""))([])
    built = linked(tmp_path / "small", fragment_text(small.page_pieces))
    texts: list[str] = []

    def link(text: str) -> Built:
        texts.append(text)
        return built

    assert settle.settled(lambda _: small, link) == small
    assert len(texts) == settle.LINKS_MAX


def test_a_kernel_of_ours_can_be_linked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its folder in the cache, also through a link; one that was built elsewhere cannot."""

    def write(folder: Path) -> None:
        for name in building.SEALED:
            (folder / name).write_text("kernel")

    links = tmp_path / "source-1" / building.LINKS
    made = build_cache.folder(links, "mark", "1", write, sealed=building.SEALED)
    (tmp_path / "kernel").symlink_to(made)
    assert relink_of(tmp_path / "kernel" / "vmlinux") is None  # its objects are gone
    build_cache.folder(tmp_path / "source-1", building.OBJECTS, "mark", lambda _: None)
    texts: list[tuple[str, str]] = []
    monkeypatch.setattr(building, "compiler_tools", dict)

    def link(make: object, objects: Path, text: str, folder: Path) -> None:
        texts.append((objects.name, text))
        write(folder)

    monkeypatch.setattr(building, "_link", link)
    relink = relink_of(tmp_path / "kernel" / "vmlinux")
    assert relink is not None
    again = relink("fragment")
    assert again == relink("fragment") and again.folder.parent == made.parent
    assert texts == [(f"{building.OBJECTS}-mark", "fragment")]
    (tmp_path / "vmlinux").write_text("kernel")
    assert relink_of(tmp_path / "vmlinux") is None
