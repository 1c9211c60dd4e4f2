"""A context pack while it is filled."""

from dataclasses import dataclass, field

from bankml.memory.cost import Count
from bankml.memory.entry import Entry, heading
from bankml.memory.recall.compact import titled
from bankml.utf8 import whole


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
            self.leave(entry.id, entry.title, f"duplicate: {first} says the same")
            return
        cost = self.count(entry.text)
        in_all = cost + (0 if entry.section in self.sections else self.count(heading(entry.section)))
        if in_all > self.left:
            self.leave(entry.id, entry.title, f"budget: it takes {in_all:,} tokens, {self.left:,} are left")
            return
        self.tokens += in_all
        self._said[said] = entry.id
        self.sections.setdefault(entry.section, []).append((entry, cost))

    def leave(self, id: str, title: str, reason: str) -> None:
        """Leaves a record out."""
        self.excluded.append(Excluded(id, whole(titled(title)), reason))

    @property
    def left(self) -> int:
        """Tokens."""
        return self.budget - self.tokens

    def may_hold(self, text: str) -> bool:
        """Whether there is room for an entry that is at least this."""
        return self.left > 0 and self.count(text) <= self.left
