"""`python -m tests.sandbox UNIT COMMAND…`: runs a command under what a systemd unit's sandboxing lines forbid.

As systemd does it, with libseccomp, without systemd as the first process. Only lines that are filters of system calls.
"""

import ctypes
import errno
import functools
import mmap
import os
import socket
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE = 0x00050000 | errno.EPERM
EQUAL, MASKED_EQUAL, NOT_EQUAL = 4, 7, 1
NAMESPACES = 0x7E020000  # CLONE_NEW…
NO_NEW_PRIVILEGES = 38  # prctl's


class Comparison(ctypes.Structure):
    """Of one argument of a system call."""

    _fields_ = [("argument", ctypes.c_uint), ("how", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class Filter:
    """System calls are answered with `otherwise` unless a rule says something else."""

    def __init__(self, otherwise: int) -> None:
        self._library = _library()
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(otherwise)))

    def rule(self, action: int, name: str, *comparisons: Comparison) -> None:
        """A name that this machine does not know is passed over, as systemd does."""
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number != -1:
            found = (Comparison * len(comparisons))(*comparisons)
            self._library.seccomp_rule_add_array(
                self._context, ctypes.c_uint32(action), number, len(comparisons), found
            )

    def load(self) -> None:
        """For this process and its children, for ever."""
        if self._library.seccomp_load(self._context):
            raise OSError("the filter was not taken")


def system_calls(name: str) -> set[str]:
    """The members of a set such as @system-service."""
    command = ["systemd-analyze", "syscall-filter", name]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = [line.strip() for line in text.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    return set().union(*(system_calls(each) if each.startswith("@") else {each} for each in found))


def apply(lines: dict[str, str]) -> None:
    """Forbids to this process what the lines of a unit forbid."""
    if calls := lines.get("SystemCallFilter"):
        allowed = Filter(KILL)
        for name in system_calls(calls) | {"execve", "exit", "exit_group", "rt_sigreturn"}:
            allowed.rule(ALLOW, name)
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    arguments = Filter(ALLOW)
    if lines.get("MemoryDenyWriteExecute") == "yes":
        both = mmap.PROT_WRITE | mmap.PROT_EXEC
        arguments.rule(REFUSE, "mmap", Comparison(2, MASKED_EQUAL, both, both))
        for name in ("mprotect", "pkey_mprotect"):
            arguments.rule(REFUSE, name, Comparison(2, MASKED_EQUAL, mmap.PROT_EXEC, mmap.PROT_EXEC))
    if families := lines.get("RestrictAddressFamilies"):
        numbers = [int(getattr(socket, family)) for family in families.split()]
        for number in set(range(64)) - set(numbers):
            arguments.rule(0x00050000 | errno.EAFNOSUPPORT, "socket", Comparison(0, EQUAL, number))
    if lines.get("RestrictNamespaces") == "yes":
        arguments.rule(REFUSE, "unshare", Comparison(0, NOT_EQUAL, 0))
        arguments.rule(REFUSE, "setns")
    if lines.get("LockPersonality") == "yes":
        arguments.rule(REFUSE, "personality", Comparison(0, NOT_EQUAL, 0xFFFFFFFF))
    arguments.load()
    if calls:
        allowed.load()


def lines(unit: str) -> dict[str, str]:
    """The settings of a unit; of several with one name the last."""
    return dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(find_library("seccomp"))
    library.seccomp_init.restype = ctypes.c_void_p
    return library


if __name__ == "__main__":
    apply(lines(Path(sys.argv[1]).read_text(encoding="utf-8")))
    os.execvp(sys.argv[2], sys.argv[2:])
