"""JSON lines, and tables of separated values → a row for each line, "column: value" where the names are short."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Literal

from bankml.documents.assembly import LARGEST, Assembly
from bankml.documents.extracted import Extracted
from bankml.documents.json_tree import value
from bankml.documents.titles import of_file
from bankml.errors import DocumentError

if TYPE_CHECKING:
    import _csv

NAME = 64  # characters of a column's name, which each row repeats
KEYS = 4  # of a path that are told
DELIMITERS = ",;\t|"
SNIFFED = 1 << 16  # characters
SAMPLE = 50  # rows
NAMES = 2  # characters of names for each of a row's own that are repeated; above that they stand above all rows
MISTAKEN = 1000  # lines in one cell: somebody's quotation mark, that no other ends


def jsonl(name: str, text: str, notes: tuple[str, ...]) -> Extracted:
    """A row for each value; lines that are no JSON are counted in a note and left out."""
    assembly, bad, first_bad = Assembly(), 0, 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            pairs = "\n".join(_pairs(value(line)))
        except DocumentError:
            raise
        except ValueError:
            bad, first_bad = bad + 1, first_bad or number
            continue
        assembly.add(pairs, "row", line=number)
    if bad:
        notes = (*notes, f"lines that are no JSON and are left out: {bad:,}, the first is line {first_bad:,}")
    return assembly.extracted("jsonl", of_file(name), notes)


def _pairs(root: object) -> Iterator[str]:
    """Each value by the path of its keys, in order."""
    left: list[tuple[tuple[str, ...], object]] = [((), root)]
    while left:
        path, node = left.pop()
        if isinstance(node, dict):
            left.extend(((*path, key[:NAME])[-KEYS:], member) for key, member in reversed(node.items()))
        elif isinstance(node, list) and any(isinstance(member, dict | list) for member in node):
            left.extend((path, member) for member in reversed(node))
        elif text := ", ".join(map(_scalar, node)) if isinstance(node, list) else _scalar(node):
            yield pair(".".join(path), text)


def pair(name: str, text: str | None) -> str:
    """A value with its name, where it has one; "" where there is no value."""
    return f"{name}: {text}" if name and text else text or ""


def _scalar(node: object) -> str:
    if isinstance(node, bool):
        return "true" if node else "false"
    return "" if node is None else str(node)


def separated(name: str, text: str, notes: tuple[str, ...]) -> Extracted:
    """Each row with the names of its columns, where the first row has them."""
    delimiter = "\t" if name.lower().endswith((".tsv", ".tab")) else _delimiter(text[:SNIFFED])
    assembly, rows, names = Assembly(), _rows(text, delimiter), list[str]()
    for first in islice(rows, 1):
        if are_names(first[1]) and text.find("\n", 0, -1) >= 0:
            names = first[1]
        else:
            rows = chain([first], rows)
    add_table(assembly, names, rows, 1)
    return assembly.extracted("csv", of_file(name), notes)


def add_table(
    assembly: Assembly, names: list[str], rows: Iterable[tuple[int | None, list[str]]], level: int = 1
) -> None:
    """Rows with their lines. `level`: of the heading that the names of the columns are, where rows do not repeat them.

    A hundred columns of long names would else make a text fifty times the table's.
    """
    names, rows = [name.strip()[:NAME] for name in names], iter(rows)
    sample = list(islice(rows, SAMPLE))
    once = len(sample) == SAMPLE and _are_long(names, [cells for _, cells in sample])
    if once:
        assembly.add(", ".join(filter(None, names)), "heading", level, sample[0][0])
    for line, cells in chain(sample, rows):
        assembly.add(" | ".join(cell.strip() for cell in cells) if once else row(cells, names), "row", line=line)


def _are_long(names: list[str], rows: list[list[str]]) -> bool:
    told = sum(len(name) for cells in rows for name, cell in zip(names, cells, strict=False) if cell.strip())
    return told > NAMES * sum(len(cell.strip()) for cells in rows for cell in cells)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not empty, and its line. A quotation mark that does not end belongs to its cell."""
    quoting: Literal[0, 3] = csv.QUOTE_NONE if _is_mistaken(text, delimiter) else csv.QUOTE_MINIMAL
    reader = _reader(text, delimiter, quoting)
    line = 1
    for cells in reader:
        if any(cells):
            yield line, cells
        line = reader.line_num + 1


def _reader(text: str, delimiter: str, quoting: Literal[0, 3]) -> "_csv.Reader":
    if csv.field_size_limit() < LARGEST:
        csv.field_size_limit(LARGEST)  # of all readers of this process; the default is 128 Ki
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting)


def _is_mistaken(text: str, delimiter: str) -> bool:
    """Whether a cell has more lines than anybody writes into one."""
    if '"' not in text:
        return False
    reader, line = _reader(text, delimiter, csv.QUOTE_MINIMAL), 0
    for _ in reader:
        if reader.line_num - line > MISTAKEN:
            return True
        line = reader.line_num
    return False


def _delimiter(sample: str) -> str:
    """The one that most rows of the sample have equally often; a comma where none is in it."""
    return max(DELIMITERS, key=lambda one: _agreement(list(islice(_reader(sample, one, csv.QUOTE_MINIMAL), SAMPLE))))


def _agreement(rows: list[list[str]]) -> tuple[bool, int, int]:
    """Whether the first row has it, how many rows have the commonest number of columns above one, and that number."""
    widths = [len(cells) for cells in rows if cells]
    columns = Counter(width for width in widths if width > 1)
    count, width = max(((count, width) for width, count in columns.items()), default=(0, 0))
    return widths[:1] != [1], count, width


def are_names(cells: list[str]) -> bool:
    """Whether a first row looks like names: all there, all different, none a number."""
    names = [cell.strip() for cell in cells]
    return all(names) and len(set(names)) == len(names) and not any(map(_is_number, names))


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").lstrip("+-$€£ ").rstrip("% ").isdigit()


def row(cells: list[str], names: list[str]) -> str:
    """Each value with the name of its column, a line for each; "" where all are empty."""
    pairs = zip_longest(names[: len(cells)], (cell.strip() for cell in cells), fillvalue="")
    return "\n".join(pair(name, cell) for name, cell in pairs if cell)
