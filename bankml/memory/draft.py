"""A record before it is written: checked as a whole, so that nothing of a bad one is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from bankml.errors import InputError
from bankml.memory.cited import relative
from bankml.memory.given import one_of, required, several, share, shown, text
from bankml.memory.instant import iso
from bankml.store.record import CATEGORIES, NAMESPACES, Category, Namespace, encoded, recipe_text
from bankml.store.records import is_id
from bankml.utf8 import whole

# Characters, and how many. A record is a fact, not a document: what is longer belongs to `bankml add`.
TITLE, CONTENT, REASONING, SESSION = 500, 1 << 20, 1 << 16, 200
TAGS, TAG, PATHS, SUPERSEDED = 64, 100, 64, 64
PROVENANCE = 1 << 14  # as JSON
AHEAD = 60_000_000  # microseconds that another machine's clock may be
EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999, in microseconds


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be remembered. Made by `of`, nothing in it needs to be looked at again.

    `paths`: below `root`, the folder that they are relative to, b"" for none. `session`: of the namespace `session`
    alone, else "". `supersedes`: ids of the records that it takes the place of. `valid_from`: microseconds since 1970,
    UTC; None: from when it is written.
    """

    title: str
    content: str
    category: Category = "fact"
    tags: tuple[str, ...] = ()
    paths: tuple[bytes, ...] = ()
    reasoning: str = ""
    confidence: float = 1.0
    namespace: Namespace = "project"
    session: str = ""
    supersedes: tuple[str, ...] = ()
    valid_from: int | None = None
    root: bytes = b""
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        title: Any,
        content: Any,
        category: Any = "fact",
        tags: Any = (),
        paths: Any = (),
        reasoning: Any = "",
        confidence: Any = 1.0,
        namespace: Any = None,
        session: Any = "",
        supersedes: Any = (),
        valid_from: Any = None,
        root: bytes = b"",
        provenance: Mapping[str, Any] | None = None,
    ) -> Self:
        """Of what somebody gives, whatever that is. `namespace` None: that of a session if one is given, else project.

        A title becomes one line; tags are cut at commas; `paths` are relative to `root`, or lie below it. Raises
        InputError in one sentence that names the value and its limit.
        """
        session = text("the session", session, SESSION)
        namespace = ("session" if session else "project") if namespace is None else namespace
        namespace = one_of("the namespace", namespace, NAMESPACES)
        if namespace == "session" and not session:
            raise InputError("the namespace is session, and no session is named: say which one, or leave it out")
        if session and namespace != "session":
            raise InputError(
                f"the namespace is {namespace}, and a session is named ({shown(session)}), whose records are of the "
                "namespace session: leave out one of the two"
            )
        return cls(
            title=" ".join(required("the title", title, TITLE).split()),
            content=body(content),
            category=one_of("the category", category, CATEGORIES),
            tags=_tags(tags),
            paths=paths_of(root, paths),
            reasoning=text("the reasoning", reasoning, REASONING),
            confidence=share("the confidence", confidence),
            namespace=namespace,
            session=session,
            supersedes=_ids(supersedes),
            valid_from=None if valid_from is None else moment(valid_from),
            root=root,
            provenance=origin(provenance or {}),
        )

    @property
    def text(self) -> str:
        """What of it is embedded and has words, as `recipe_text`."""
        return recipe_text(self.title, self.content, self.reasoning, self.tags)


def body(content: Any) -> str:
    """A record's content: not empty, without blank lines before it and space behind it."""
    if not isinstance(content, str):
        return text("the content", content, CONTENT)
    found: str = whole(content).rstrip().lstrip("\r\n")
    required("the content", found, CONTENT)
    return found


def paths_of(root: bytes, paths: Any) -> tuple[bytes, ...]:
    """Paths below the root, each once. Raises InputError as `relative`."""
    return tuple(dict.fromkeys(relative(root, path) for path in several("the paths", paths, PATHS)))


def moment(instant: Any) -> int:
    """An instant of a year that a calendar has."""
    if isinstance(instant, bool) or not isinstance(instant, int) or not EARLIEST <= instant <= LATEST:
        raise InputError(f"the time is {shown(instant)}: give microseconds since 1970 of a year from 1 to 9999")
    return instant


def begins(valid_from: int | None, now: int) -> int:
    """When something begins to hold that is written now. A clock that is ahead by a minute at most says now.

    Raises InputError for a later one: a query would tell at once what holds only then.
    """
    if valid_from is None:
        return now
    if valid_from > now + AHEAD:
        raise InputError(
            f"it is to hold from {iso(valid_from)}, and now it is {iso(now)}: write it when it does, or say in its "
            "content from when"
        )
    return min(valid_from, now)


def record_id(value: Any) -> str:
    """An id as every record has one, in its form."""
    if not isinstance(value, str) or not is_id(value) or len(value) > SESSION:
        raise InputError(f"{shown(value)} is no id of a record: give one such as rec_0123456789abcdef")
    return value


def origin(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Who wrote something, and where. Raises InputError for what is no JSON, or too much of it."""
    try:
        written = encoded(whole(dict(provenance)))
    except (TypeError, ValueError, RecursionError):
        raise InputError("the provenance is no JSON: give texts and numbers by name") from None
    if len(written) > PROVENANCE:
        raise InputError(f"the provenance has {len(written):,} characters, more than {PROVENANCE:,}: shorten it")
    found: dict[str, Any] = whole(dict(provenance))
    return found


def _tags(tags: Any) -> tuple[str, ...]:
    given = [text("a tag", tag, TAG * TAGS) for tag in several("the tags", tags, TAGS)]
    found = [part.strip() for tag in given for part in tag.split(",")]
    return tuple(several("the tags", [text("a tag", " ".join(tag.split()), TAG) for tag in found if tag], TAGS))


def _ids(ids: Any) -> tuple[str, ...]:
    return tuple(record_id(each) for each in several("the superseded ids", ids, SUPERSEDED))
