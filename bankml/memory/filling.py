"""A context pack while it is filled."""

from dataclasses import dataclass, field

from bankml.memory.cost import Count
from bankml.memory.entry import Entry, heading


@dataclass(frozen=True, slots=True)
class Excluded:
    """A record that was left out, whole."""

    id: str
    title: str
    reason: str


@dataclass(slots=True)
class Filling:
    """What is in it so far, which never costs more than `budget`.

    Each entry and each heading is counted by itself and rounded up: what is put together of them costs no more.
    """

    budget: int
    count: Count
    tokens: int = 0
    sections: dict[str, list[tuple[Entry, int]]] = field(default_factory=dict)  # with the cost of each
    excluded: list[Excluded] = field(default_factory=list)
    _said: dict[tuple[str, str, str], str] = field(default_factory=dict)  # by whom

    def add(self, entry: Entry) -> None:
        """Takes it, or leaves it out with the reason."""
        said = entry.section, entry.title, entry.facts["content"]
        if first := self._said.get(said):
            self.leave(entry, f"duplicate: {first} says the same")
            return
        cost = self.count(entry.text)
        whole = cost + (0 if entry.section in self.sections else self.count(heading(entry.section)))
        if whole > (left := self.budget - self.tokens):
            self.leave(entry, f"budget: it takes {whole:,} tokens, {left:,} are left")
            return
        self.tokens += whole
        self._said[said] = entry.id
        self.sections.setdefault(entry.section, []).append((entry, cost))

    def leave(self, entry: Entry, reason: str) -> None:
        """Leaves it out."""
        self.excluded.append(Excluded(entry.id, entry.title, reason))
