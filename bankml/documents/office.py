"""Word, PowerPoint and EPUB → text by markitdown, Excel by what it brings along."""

import io
from typing import Any

from markitdown import StreamInfo
from markitdown.converters import DocxConverter, EpubConverter, PptxConverter

from bankml.documents.converted import converted
from bankml.documents.extracted import Extracted
from bankml.documents.sheets import sheets
from bankml.errors import DocumentError


def office(kind: str, name: str, content: bytes) -> Extracted:
    """By the one converter that reads this kind: guessing, as markitdown itself does, takes a neural network.

    Raises DocumentError where it has no text; the converters raise what they will.
    """
    extracted = sheets(kind, name, content) if kind == "xlsx" else _by_markitdown(kind, name, content)
    if not extracted.blocks:
        raise DocumentError("has no text")
    return extracted


def _by_markitdown(kind: str, name: str, content: bytes) -> Extracted:
    converters: dict[str, Any] = {"docx": DocxConverter, "pptx": PptxConverter, "epub": EpubConverter}
    found = converters[kind]().convert(io.BytesIO(content), StreamInfo(extension=f".{kind}", filename=name))
    return converted(kind, name, found.markdown)
