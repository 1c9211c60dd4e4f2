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
from bankml.documents.rows import add_table, are_names
from bankml.documents.titles import of_file


def sheets(kind: str, name: str, content: bytes) -> Extracted:
    """Of formulas their values as they were saved. openpyxl raises what it will."""
    assembly = Assembly()
    for sheet in load_workbook(io.BytesIO(content), read_only=True, data_only=True).worksheets:
        assembly.add(sheet.title, "heading", 1)
        add_table(assembly, *_table(sheet.iter_rows(values_only=True)), level=2)
    return assembly.extracted(kind, of_file(name), ())


def _table(cells: Iterable[tuple[object, ...]]) -> tuple[list[str], Iterator[tuple[None, list[str]]]]:
    """Names and rows of a sheet, whose first row that is not empty may name its columns."""
    rows = (texts for one in cells if any(texts := [_text(cell) for cell in one]))
    head = next(rows, [])
    second = next(rows, None)
    names = head if second and are_names([text for text in head if text]) else []
    first = [texts for texts in ([] if names else head, second) if texts]
    return names, ((None, texts) for texts in chain(first, rows))


def _text(cell: object) -> str:
    if isinstance(cell, datetime):
        return str(cell).removesuffix(" 00:00:00")
    return "" if cell is None else str(cell).strip()
