"""How much memory this process may still take: of the machine, and of every cgroup it is in (Linux)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path("/")


@dataclass(frozen=True)
class Available:
    """`source` says where the figure is from, for people."""

    bytes: int
    source: str


@dataclass(frozen=True)
class _Files:
    """Names of one version of the memory controller."""

    limits: tuple[str, ...]
    usage: str
    cache: tuple[str, str]  # keys of memory.stat: file pages that can be given back


_V1 = _Files(("memory.limit_in_bytes",), "memory.usage_in_bytes", ("total_inactive_file", "total_active_file"))
_V2 = _Files(("memory.max", "memory.high"), "memory.current", ("inactive_file", "active_file"))


def available(root: Path = ROOT) -> Available | None:
    """The least of what the machine and the cgroups above this process leave; None where the system does not tell.

    `root` is the folder in which /proc and /sys lie.
    """
    found = [*_machine(root), *_cgroups(root)]
    return min(found, key=lambda one: one.bytes, default=None)


def _machine(root: Path) -> Iterator[Available]:
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield Available(int(line.split()[1]) << 10, "MemAvailable of /proc/meminfo")


def _cgroups(root: Path) -> Iterator[Available]:
    """Of each cgroup with a limit, from this process's own up to the topmost that can be seen."""
    for files, mount, path in _places(root):
        for folder in (path, *path.parents):
            if found := _left(root, mount / str(folder).lstrip("/"), files):
                yield found


def _places(root: Path) -> Iterator[tuple[_Files, PurePosixPath, PurePosixPath]]:
    """For each hierarchy with a memory controller: where it is mounted, and this process's place below that."""
    mine = dict(_memberships(_text(root / "proc/self/cgroup")))
    for files, inner, mount in _mounts(_text(root / "proc/self/mountinfo")):
        if path := mine.get(files):
            # A container may see its own cgroup as the root of the mount, and its path as the machine's.
            below = path.relative_to(inner) if path.is_relative_to(inner) else PurePosixPath()
            yield files, mount, PurePosixPath("/") / below


def _memberships(text: str) -> Iterator[tuple[_Files, PurePosixPath]]:
    for line in text.splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            yield _V2, PurePosixPath(path)
        elif "memory" in controllers.split(","):
            yield _V1, PurePosixPath(path)


def _mounts(text: str) -> Iterator[tuple[_Files, PurePosixPath, PurePosixPath]]:
    """Version, root within the hierarchy and mount point; a line is `… root mount … - type source options`."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(" ")[-1].split(",")):
            inner, mount = (PurePosixPath(part) for part in before.split()[3:5])
            yield _V2 if kind == "cgroup2" else _V1, inner, mount


def _left(root: Path, folder: PurePosixPath, files: _Files) -> Available | None:
    here = root / str(folder).lstrip("/")
    limits = [int(text) for name in files.limits if (text := _text(here / name).strip()).isdecimal()]
    usage = _text(here / files.usage).strip()
    if not limits or not usage.isdecimal():
        return None
    pages = (line.split() for line in _text(here / "memory.stat").splitlines())
    cache = sum(int(count) for key, count in pages if key in files.cache)
    return Available(max(0, min(limits) - int(usage) + cache), f"the memory limit of the cgroup {folder}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
