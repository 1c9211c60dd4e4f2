"""Word, PowerPoint, Excel and EPUB → text, by markitdown."""

import io
from typing import Any

from markitdown import StreamInfo
from markitdown.converters import DocxConverter, EpubConverter, PptxConverter, XlsxConverter

from bankml.documents.converted import converted
from bankml.documents.extracted import Extracted
from bankml.errors import DocumentError


def office(kind: str, name: str, content: bytes) -> Extracted:
    """By the one converter that reads this kind: guessing, as markitdown itself does, takes a neural network.

    Raises DocumentError where it has no text; the converters raise what they will.
    """
    converters: dict[str, Any] = {
        "docx": DocxConverter,
        "pptx": PptxConverter,
        "xlsx": XlsxConverter,
        "epub": EpubConverter,
    }
    found = converters[kind]().convert(io.BytesIO(content), StreamInfo(extension=f".{kind}", filename=name))
    extracted = converted(kind, name, found.markdown)
    if not extracted.blocks:
        raise DocumentError("has no text")
    return extracted
