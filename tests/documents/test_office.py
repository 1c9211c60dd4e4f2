import io

import openpyxl
import pptx
import pytest

from bankml.documents.extract import extract
from bankml.errors import DocumentError
from tests.documents import made
from tests.documents.soundness import assert_sound, shown


def read(name, content):
    extracted = extract(name, content)
    assert_sound(extracted)
    assert not extracted.has_lines
    return extracted


def test_word():
    body = (
        made.paragraph("Main title", "Heading1")
        + made.paragraph("Words &amp; more.")
        + made.paragraph("Sub", "Heading2")
    )
    extracted = read("/b/a.docx", made.docx(body + made.paragraph("End.")))
    assert (extracted.type, extracted.title) == ("docx", "Main title")
    assert shown(extracted) == [
        ("heading", 1, None, "# Main title"),
        ("paragraph", 0, None, "Words & more."),
        ("heading", 2, None, "## Sub"),
        ("paragraph", 0, None, "End."),
    ]


def test_slides_are_pages():
    slides, stream = pptx.Presentation(), io.BytesIO()
    for number in (1, 2):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text = "Point"
    slides.save(stream)
    extracted = read("a.pptx", stream.getvalue())
    assert [block.page for block in extracted.blocks] == [1, 1, 2, 2]
    assert extracted.text == "# Slide 1\n\nPoint\n\n# Slide 2\n\nPoint"


def test_a_sheet_is_read_row_by_row():
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (["name", None, "age"], ["Ada", "x", 36], [None, None, None], ["Bob | Co", None, None]):
        book.active.append(row)
    book.save(stream)
    assert shown(read("a.xlsx", stream.getvalue())) == [
        ("heading", 1, None, "Sheet"),
        ("row", 0, None, "name: Ada\nx\nage: 36"),
        ("row", 0, None, "name: Bob | Co"),
    ]


def test_long_names_stand_above_all_rows_of_a_long_sheet():
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (["a name of a column that is long", "b name of a column"], *([n, "x"] for n in range(60))):
        book.active.append(row)
    book.save(stream)
    found = shown(read("a.xlsx", stream.getvalue()))
    assert found[1:3] == [
        ("heading", 2, None, "a name of a column that is long, b name of a column"),
        ("row", 0, None, "0 | x"),
    ]
    assert len(found) == 62


def test_books():
    extracted = read("a.epub", made.epub(["<html><body><h1>Chapter</h1><p>Text</p></body></html>", "<p>two</p>"]))
    assert [words for _, _, _, words in shown(extracted)] == ["# Chapter", "Text", "two"]


ENTITIES = "".join(f'<!ENTITY x{n + 1} "{f"&x{n};" * 10}">' for n in range(9))


@pytest.mark.parametrize(
    "files",
    [
        {"word/document.xml": f'<!DOCTYPE a [<!ENTITY x0 "aaaaaaaaaa">{ENTITIES}]><a>&x9;</a>'},
        {"word/document.xml": "<"},
        {"xl/workbook.xml": ""},
        {"ppt/presentation.xml": "<a/>"},
        {"META-INF/container.xml": "<a/>"},
    ],
)
def test_damaged_ones_and_entities_without_end(files):
    with pytest.raises(DocumentError, match=r"cannot be read as|has no text"):
        extract("a.docx", made.packed(files))
