"""PDF and office files → text by docling, whose models read scanned pages and tables: asked for by name alone."""

import io

from docling.datamodel.base_models import DocumentStream
from docling.document_converter import DocumentConverter

from bankml.documents.converted import converted
from bankml.documents.extracted import Extracted
from bankml.documents.titles import of_file
from bankml.errors import DocumentError


def docling(kind: str, name: str, content: bytes) -> Extracted:
    """By docling's own choices. Raises DocumentError where it finds no text; docling raises what it will."""
    called = of_file(name) or "document"
    source = DocumentStream(
        name=called if called.endswith(f".{kind}") else f"{called}.{kind}", stream=io.BytesIO(content)
    )
    extracted = converted(kind, name, DocumentConverter().convert(source).document.export_to_markdown())
    if not extracted.blocks:
        raise DocumentError("has no text that docling finds")
    return extracted
