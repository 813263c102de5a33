"""The limit of memory that this process's cgroups have, above which Linux kills it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MOUNTED = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
FIRST, SECOND = "memory.limit_in_bytes", "memory.max"  # the files of cgroup v1 and v2


def memory_limit_bytes(own: Path = OWN, mounted: Path = MOUNTED) -> int | None:
    """The smallest limit of the groups that this process is in; None if there is none."""
    try:
        rows = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return None
    texts = [text for _, controllers, path in rows for text in _said(mounted, controllers, path)]
    return min((int(text) for text in texts if text.isdecimal()), default=None)


def _said(mounted: Path, controllers: str, path: str) -> Iterator[str]:
    """Limits of the groups from PATH up to the root, without those that a container hides."""
    if "memory" in controllers.split(","):
        root, name = mounted / "memory", FIRST
    elif not controllers:
        root, name = mounted, SECOND
    else:
        return
    inner = Path(path.lstrip("/"))
    for group in (inner, *inner.parents):
        try:
            yield (root / group / name).read_text().strip()
        except OSError:
            pass
