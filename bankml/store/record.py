"""What an agent knows: a fact with a history."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Literal, get_args

from bankml.errors import StoreError
from bankml.store.passage import Passage

Category = Literal["fact", "decision", "constraint", "architecture", "state"]
Status = Literal["active", "superseded", "archived"]
Freshness = Literal["current", "needs_review", "stale"]
Namespace = Literal["session", "project", "organization", "global"]

CATEGORIES: tuple[Category, ...] = get_args(Category)
STATUSES: tuple[Status, ...] = get_args(Status)
FRESHNESS: tuple[Freshness, ...] = get_args(Freshness)
NAMESPACES: tuple[Namespace, ...] = get_args(Namespace)

TYPE = "record"  # of the document that a record's passages belong to
PREFIX = "rec_"  # of every id


def new_id() -> str:
    """64 random bits: of a million records in linked stores two have the same id by a chance of 1 in 37 million."""
    return PREFIX + token_hex(8)


def recipe_text(title: str, content: str, reasoning: str = "", tags: tuple[str, ...] = ()) -> str:
    """What of a record is embedded and has words: its title, its content, why, and its tags, each on its own line."""
    lines = [title, content]
    lines += [f"Reasoning: {reasoning}"] if reasoning else []
    lines += [f"Tags: {', '.join(tags)}"] if tags else []
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Cited:
    """A file that a record depends on, as it was when that was written or last confirmed.

    `path`: its bytes, relative to the record's root; `sha256`: "" where the file could not be read then.
    """

    path: bytes
    sha256: str = ""
    size: int = 0
    modified: int = 0  # nanoseconds


@dataclass(frozen=True, slots=True)
class Record:
    """`content` and `confidence` (0 to 1) are those of its newest assertion. Times: microseconds since 1970, UTC.

    `freshness`: as it was said; whether a cited file has changed since is seen when it is looked for. `root`: the
    folder that cited paths are relative to, b"" for none. `session`: of the namespace `session` alone, else "".
    """

    id: str
    title: str
    content: str
    created_at: int
    updated_at: int
    reasoning: str = ""
    category: Category = "fact"
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    status: Status = "active"
    freshness: Freshness = "current"
    namespace: Namespace = "project"
    session: str = ""
    root: bytes = b""
    cited: tuple[Cited, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    superseded_by: str | None = None

    @property
    def text(self) -> str:
        """As `recipe_text`."""
        return recipe_text(self.title, self.content, self.reasoning, self.tags)


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a record said from `valid_from` on, up to and without `valid_to` (None: still), as it was recorded then."""

    content: str
    confidence: float
    valid_from: int
    valid_to: int | None
    recorded_at: int
    provenance: Mapping[str, Any] = field(default_factory=dict)
    id: int = 0


def passage(text: str, title: str, start: int, tokens: int) -> Passage:
    """A part of a record's text from character `start` on, under its title."""
    return Passage(text, title, start, start + len(text), None, None, tokens)


def encoded(value: Any) -> str:
    """As JSON, the same for equals."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def facts(text: str, name: str) -> dict[str, Any]:
    """What was `encoded`, by name. Raises StoreError for what is none, which `name` is of."""
    found = _decoded(text)
    if not isinstance(found, dict):
        raise _damaged(name)
    return found


def names(text: str, name: str) -> tuple[str, ...]:
    """What was `encoded`, a list of texts. Raises StoreError for what is none, which `name` is of."""
    found = _decoded(text)
    if not (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        raise _damaged(name)
    return tuple(found)


def _decoded(text: Any) -> Any:
    """None of what is no JSON."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _damaged(name: str) -> StoreError:
    return StoreError(f"{name} cannot be read, its row is damaged: `bankml doctor` lists all that is, and what helps")
