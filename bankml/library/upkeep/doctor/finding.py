"""What one check of a knowledge base found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bankml.store import Store

MOST = 100  # examples that are told; all are counted

Mend = Callable[[Store], str]
"""Makes what is derived anew; what it did, in the past tense."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`wrong`: of how many things; 0 where all is well. `remedy`: what to run. `mend`: what `--repair` does."""

    check: str
    wrong: int
    found: str
    remedy: str = ""
    examples: tuple[str, ...] = ()
    mend: Mend | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong

    def object(self) -> dict[str, Any]:
        """As `bankml doctor --json` prints it."""
        return {
            "check": self.check,
            "ok": self.ok,
            "wrong": self.wrong,
            "found": self.found,
            "remedy": self.remedy,
            "examples": list(self.examples),
        }


def well(check: str, found: str) -> Finding:
    """Nothing is wrong."""
    return Finding(check, 0, found)


def ill(check: str, wrong: Sequence[str], found: str, remedy: str, mend: Mend | None = None) -> Finding:
    """`wrong`: each thing that is, in a few words."""
    return Finding(check, len(wrong), found, remedy, tuple(wrong[:MOST]), mend)
