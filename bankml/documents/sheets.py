"""Excel → a row for each row, with the names of its columns; by openpyxl, which markitdown reads it with, too.

markitdown's own way through pandas makes 36 to 36.0 where a cell of the column is empty.
"""

import io
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain

from openpyxl import load_workbook

from bankml.documents.assembly import Assembly
from bankml.documents.extracted import Extracted
from bankml.documents.rows import NAME, are_names, row
from bankml.documents.titles import of_file


def sheets(kind: str, name: str, content: bytes) -> Extracted:
    """Of formulas their values as they were saved. openpyxl raises what it will."""
    assembly = Assembly()
    for sheet in load_workbook(io.BytesIO(content), read_only=True, data_only=True).worksheets:
        assembly.add(sheet.title, "heading", 1)
        for text in _rows(sheet.iter_rows(values_only=True)):
            assembly.add(text, "row")
    return assembly.extracted(kind, of_file(name), ())


def _rows(cells: Iterable[tuple[object, ...]]) -> Iterator[str]:
    """Of a sheet, whose first row that is not empty may name its columns."""
    rows = (texts for one in cells if any(texts := [_text(cell) for cell in one]))
    head = next(rows, [])
    second = next(rows, None)
    names = [text[:NAME] for text in head] if second and are_names([text for text in head if text]) else []
    if not names:
        yield row(head, [])
    for texts in rows if second is None else chain([second], rows):
        yield row(texts, names)


def _text(cell: object) -> str:
    if isinstance(cell, datetime):
        return str(cell).removesuffix(" 00:00:00")
    return "" if cell is None else str(cell).strip()
