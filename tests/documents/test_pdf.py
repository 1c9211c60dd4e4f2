import zlib

import pytest

from bankml.documents.extract import extract
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
