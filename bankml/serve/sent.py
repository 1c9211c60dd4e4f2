"""A text that a client sends to be kept under a name: a source that is read from no disk."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import get_args

from bankml.documents import Source
from bankml.documents.kinds import KINDS
from bankml.errors import InputError
from bankml.library.add.name import unfit
from bankml.serve.kb import Document, TextType
from bankml.serve.limits import MOST_DOCUMENTS, MOST_NAME


@dataclass(slots=True)
class Sent(Source):
    """`path` is the name."""

    content: bytes = b""

    def read(self) -> bytes:
        """The text in UTF-8, as often as it is asked for."""
        return self.content


def sent(documents: Sequence[Document]) -> list[Sent]:
    """The sources of these. Raises InputError with the `index` of the first whose name will not do."""
    if not 1 <= len(documents) <= MOST_DOCUMENTS:
        raise InputError(f"documents has {len(documents):,} entries; send 1 to {MOST_DOCUMENTS:,} in one request")
    return [_sent(document, index, int(time.time())) for index, document in enumerate(documents)]


def _sent(document: Document, index: int, now: int) -> Sent:
    if why := _unfit(document.name):
        raise InputError(f"the name of document {index} {why}", index=index)
    content = document.text.encode()
    return Sent(document.name, len(content), now, type=document.type or _type(document.name), content=content)


def _unfit(name: str) -> str:
    """Why it cannot be a document's name; "" where it can."""
    if len(name) > MOST_NAME:
        return f"has {len(name):,} characters; give {MOST_NAME:,} at most"
    return unfit(name)


def _type(name: str) -> str:
    """By the end of the name, and never one whose bytes need a parser: what is sent is text."""
    kind = KINDS.get(PurePath(name.lower()).suffix[1:], "text")
    return kind if kind in get_args(TextType) else "text"
