import io
import zlib

import pytest
from pypdf import PdfWriter

from bankml.documents.extract import extract
from bankml.documents.pdf import pdf
from bankml.errors import DocumentError
from tests.documents import made
from tests.documents.soundness import assert_sound


def test_pages_and_their_numbers():
    extracted = extract(
        "a.pdf", made.pdf(["One of them,\nsecond exam-\nple line", "", "Page three \xe9"], title="A title")
    )
    assert_sound(extracted)
    assert (extracted.type, extracted.title, extracted.has_lines) == ("pdf", "A title", False)
    assert extracted.text == "One of them,\nsecond example line\n\nPage three é"
    assert [block.page for block in extracted.blocks] == [1, 3]


def test_a_title_of_a_program_is_none():
    assert extract("/b/a.pdf", made.pdf(["x"], title="Microsoft Word - x.doc")).title == "a.pdf"


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_encrypted_ones_open_without_a_password_or_say_so(algorithm):
    assert extract("a.pdf", made.pdf(["free"], password="", algorithm=algorithm)).text == "free"
    with pytest.raises(DocumentError, match="is encrypted: take its password off"):
        extract("a.pdf", made.pdf(["secret"], password="x", algorithm=algorithm))


def test_pages_without_text_are_told():
    with pytest.raises(DocumentError, match=r"has no text \(pages: 2\), pictures perhaps"):
        extract("a.pdf", made.pdf(["", ""]))


def test_pages_none_of_which_can_be_read_are_damaged(monkeypatch):
    def damaged(self):
        raise ValueError

    content = made.pdf(["x", "y"])
    monkeypatch.setattr("pypdf.PageObject.extract_text", damaged)
    with pytest.raises(DocumentError, match=r"has no page that can be read \(pages: 2\), damaged perhaps"):
        pdf("pdf", "a.pdf", content)


def test_running_heads_and_page_numbers_are_left_out():
    pages = [f"The Handbook\nChapter {'one' if n < 3 else 'two'}\nWords {'abcdefgh'[n]}.\n{n} of 8" for n in range(8)]
    text = extract("a.pdf", made.pdf(pages)).text
    assert text.count("The Handbook") == 1
    assert text.count(" of 8") == 1
    assert text.count("Words") == 8
    assert extract("a.pdf", made.pdf(["Yes.\n1", "Yes.\n2", "Yes.\n3"])).text == "Yes.\n1\n\nYes.\n2\n\nYes.\n3"


def test_the_outline_gives_the_headings():
    writer = PdfWriter(io.BytesIO(made.pdf(["Before.\n2.1 First  part\nInside.\nSecond\nEnd.", "Page two.", "Last."])))
    top = writer.add_outline_item("Book", 0)
    writer.add_outline_item("First part", 0, parent=top)
    writer.add_outline_item("Second", 0, parent=top)
    writer.add_outline_item("Not a line", 1)
    stream = io.BytesIO()
    writer.write(stream)
    extracted = extract("a.pdf", stream.getvalue())
    assert_sound(extracted)
    found = [(block.level, block.page, extracted.text[block.start : block.end]) for block in extracted.blocks]
    assert found == [
        (1, 1, "Book"), (0, 1, "Before."), (2, 1, "First part"), (0, 1, "Inside."), (2, 1, "Second"), (0, 1, "End."),
        (1, 2, "Not a line"), (0, 2, "Page two."), (0, 3, "Last."),
    ]  # fmt: skip


def test_cut_off_anywhere_it_is_read_or_one_sentence():
    whole = made.pdf(["Some text"])
    for length in range(10, len(whole), len(whole) // 20):
        sound_or_refused(whole[:length])


@pytest.mark.parametrize(
    "objects",
    [
        ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>"],
        [
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Kids[3 0 R]/Count 9>>",
            "<</Type/Pages/Parent 2 0 R/Kids[2 0 R]/Count 9>>",
        ],
        ["<</Type/Catalog/Pages 1 0 R>>"],
        ["[" * 5000],
        ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids 2 0 R/Count 999999999999>>"],
    ],
)
def test_trees_that_are_none(objects):
    sound_or_refused(made.raw_pdf([text.encode() for text in objects]))


def test_a_page_that_unpacks_to_much():
    packed = zlib.compress(b" " * (100 << 20))
    sound_or_refused(
        made.raw_pdf(
            [
                b"<</Type/Catalog/Pages 2 0 R>>",
                b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
                b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
            ]
        )
    )


def sound_or_refused(content):
    try:
        extracted = extract("a.pdf", content)
    except DocumentError:
        return
    assert_sound(extracted)
