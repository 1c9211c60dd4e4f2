"""Jupyter's notebooks → the sources of their cells, without what came out of them."""

from typing import Any

from bankml.documents.assembly import Assembly
from bankml.documents.extracted import Extracted
from bankml.documents.json_document import json_document
from bankml.documents.json_tree import value
from bankml.documents.markdown import markdown
from bankml.documents.titles import titled
from bankml.errors import DocumentError


def notebook(name: str, text: str, notes: tuple[str, ...]) -> Extracted:
    """Cells of Markdown with their headings, and of code; what is no notebook is JSON, or text."""
    try:
        found = value(text)
    except DocumentError:
        raise
    except ValueError:
        found = None
    cells = found.get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list):
        return json_document(name, text, notes)
    assembly = Assembly()
    for cell in cells:
        if isinstance(cell, dict):
            _add(assembly, cell)
    whole = assembly.extracted("notebook", "", notes)
    return assembly.extracted("notebook", titled(name, whole.text, whole.blocks), notes)


def _add(assembly: Assembly, cell: dict[str, Any]) -> None:
    """`source` is a text or its lines: https://nbformat.readthedocs.io, "Cell types"."""
    source = cell.get("source")
    source = "".join(map(str, source)) if isinstance(source, list) else source if isinstance(source, str) else ""
    if cell.get("cell_type") != "markdown":
        return assembly.add(source, "code" if cell.get("cell_type") == "code" else "paragraph")
    inner = markdown("", source, ())
    for block in inner.blocks:
        assembly.add(inner.text[block.start : block.end], block.kind, block.level)
