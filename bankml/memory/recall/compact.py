"""A record that was found, as it leaves: short enough for whoever pays by the token, and nothing cut in silence."""

import unicodedata
from typing import Any

from bankml.library.search.snippet import snippet
from bankml.memory.instant import iso
from bankml.memory.recall.recalled import Memory
from bankml.utf8 import whole

CONTENT = 2000  # characters
TITLE = 200
PATHS = 6
PATH = 120  # characters of each
PREVIEW = 600
ELLIPSIS = "…"
BACK = 32  # characters that a cut goes back at most to part no letter from its marks
JOINERS = frozenset("\u200d\ufe0e\ufe0f")  # zero-width joiner, variation selectors


def compact(memory: Memory, root: bytes, marks: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What JSON shows of it. `root`: of who asks; `marks`: as of `Recalled`, around which a preview is taken.

    `affectedPaths` is empty, and `paths_withheld` true, where its paths are relative to another folder than `root`.
    `exact` is there only where it is true. `truncated` is there only where `content` was cut; then `passage` previews
    what was found.
    """
    record = memory.record
    withheld = bool(record.cited) and (bool(memory.repository) or record.root != root)
    content = cut(record.content, CONTENT)
    parted = len(content) < len(record.content)
    found = {
        "id": record.id,
        "title": titled(record.title),
        "content": content,
        **({"truncated": True, "passage": preview(memory.passage, marks)} if parted else {}),
        "category": record.category,
        "affectedPaths": [] if withheld else affected(memory),
        **({"paths_withheld": True} if withheld else {}),
        "score": memory.score,
        "cosine": memory.cosine,
        "weak": memory.weak,
        **({"exact": True} if memory.exact else {}),
        "status": record.status,
        "freshness": memory.freshness,
        "confidence": record.confidence,
        "namespace": record.namespace,
        "tags": list(record.tags),
        "created_at": iso(record.created_at),
        "updated_at": iso(record.updated_at),
        **({"superseded_by": record.superseded_by} if record.superseded_by else {}),
        **({"repository": memory.repository} if memory.repository else {}),
    }
    return dict(whole(found))


def affected(memory: Memory) -> list[str]:
    """The first files that it depends on, relative to its root; of a longer path the end."""
    paths = [file.path.decode("utf-8", "replace") for file in memory.record.cited]
    within = [path for path in paths if not path.startswith("/") and ".." not in path.split("/")]
    return [path if len(path) <= PATH else ELLIPSIS + path[1 - PATH :] for path in within[:PATHS]]


def titled(title: str) -> str:
    """At most 200 characters, the last of them "…" where it was cut."""
    return title if len(title) <= TITLE else cut(title, TITLE - 1) + ELLIPSIS


def preview(text: str, marks: frozenset[str] = frozenset()) -> str:
    """At most 600 characters on one line, around what the query names."""
    flat = " ".join(text.split())
    return flat if len(flat) <= PREVIEW else snippet(flat, marks, PREVIEW - 2 * len(ELLIPSIS)).text


def cut(text: str, most: int) -> str:
    """The first `most` characters, or a few less, so that no letter is parted from its marks."""
    end = most
    while end < len(text) and most - end < BACK and end and _joined(text[end - 1], text[end]):
        end -= 1
    return text[:most] if end in (0, most - BACK) else text[:end]


def _joined(before: str, after: str) -> bool:
    """Whether the two make one letter or picture."""
    return bool(unicodedata.combining(after)) or after in JOINERS or before == "\u200d"
