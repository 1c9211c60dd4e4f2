"""Memory of a process in bytes, from /proc. Imports nothing heavy: it is loaded into the processes it measures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Resident:
    """`anon` is the process's own memory, `file` its resident part of mapped files, `peak` the most both ever were."""

    anon: int
    file: int
    peak: int

    @property
    def total(self) -> int:
        """anon + file."""
        return self.anon + self.file


def now(pid: int | str = "self") -> Resident:
    """Of the calling process, or of another."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        lines = dict(line.split(":", 1) for line in status if ":" in line)
    anon, file, peak = (int(lines[key].split()[0]) << 10 for key in ("RssAnon", "RssFile", "VmHWM"))
    return Resident(anon, file, peak)


def forget_peak() -> None:
    """Lets `peak` start again from what is resident now."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
