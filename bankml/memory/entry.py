"""A record as a part of a context pack."""

from dataclasses import dataclass
from typing import Any

from bankml.memory.recall.compact import compact, titled
from bankml.memory.recall.recalled import Memory
from bankml.store.record import Category
from bankml.utf8 import line, printable

HEADINGS: dict[Category, str] = {
    "constraint": "Constraints",
    "decision": "Decisions",
    "fact": "Facts",
    "architecture": "Architecture",
    "state": "State",
}
# Of what a query shows: how well a record fits tells nothing of a constraint that was not looked for.
SHOWN = (
    "id",
    "title",
    "content",
    "truncated",
    "passage",
    "category",
    "affectedPaths",
    "paths_withheld",
    "freshness",
    "confidence",
    "namespace",
)
INDENT = "  "


@dataclass(frozen=True, slots=True)
class Entry:
    """`text`: Markdown that ends a line; `facts`: the same for JSON."""

    section: str
    text: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, memory: Memory, root: bytes, marks: frozenset[str] = frozenset()) -> "Entry":
        """Of what was recalled, as short as `bankml query` shows it. `root`, `marks`: as of `compact`."""
        found = compact(memory, root, marks)
        facts = {name: found[name] for name in SHOWN if name in found}
        return cls(HEADINGS[memory.record.category], _text(facts, len(memory.record.content)), facts)

    @property
    def id(self) -> str:
        """The record's."""
        return str(self.facts["id"])

    @property
    def title(self) -> str:
        """The record's, at most 200 characters."""
        return str(self.facts["title"])


def heading(section: str) -> str:
    """Of a section, with the blank lines around it."""
    return f"\n## {section}\n\n"


def least(id: str, title: str, content: str) -> str:
    """What the text of a record's entry has at least: it is marked with nothing, cites no file and is not cut."""
    return _item([f"**{line(titled(title))}** ({id})", *_lines(content)])


def _text(facts: dict[str, Any], length: int) -> str:
    """A list's item. What the content holds is indented behind it, so that nothing of it can begin a section."""
    lines = [f"**{line(facts['title'])}** ({', '.join(_said(facts))})", *_lines(facts["content"])]
    if "truncated" in facts:
        lines.append(f"[cut at {len(facts['content']):,} of {length:,} characters; whole: bankml timeline --full]")
        lines += [f"[from it] {line(facts['passage'])}"] if facts["passage"] else []
    if facts["affectedPaths"]:
        lines.append(f"Files: {', '.join(map(line, facts['affectedPaths']))}")
    return _item(lines)


def _item(lines: list[str]) -> str:
    return "- " + f"\n{INDENT}".join(lines) + "\n"


def _said(facts: dict[str, Any]) -> list[str]:
    """The id, and what should make a reader doubt."""
    said = [facts["id"]]
    said += [f"confidence {facts['confidence']:.2g}"] if facts["confidence"] < 1 else []
    return said + ([facts["freshness"].replace("_", " ")] if facts["freshness"] != "current" else [])


def _lines(text: str) -> list[str]:
    """Blank lines cost and say nothing."""
    return [printable(each.replace("\t", " ")).rstrip() for each in text.splitlines() if each.strip()]
