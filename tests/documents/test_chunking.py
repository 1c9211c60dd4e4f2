"""Passages: all of a text, within the model's limit, along its structure, and the same again after an edit."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankml import Encoder, InputError
from bankml.documents import estimate
from bankml.documents.chunk import Chunk
from bankml.documents.chunking import chunks
from bankml.documents.extract import extract
from bankml.documents.extracted import Block, Extracted
from bankml.errors import DocumentError
from oracle.texts import HARD
from tests.documents.structure import extracted, markdown, plain

WORDS = st.sampled_from(
    """The index holds rows. und dann kam z.B. Müller! 東京は日本の首都です。 ประเทศไทยมีประชากร मैं घर जा रहा हूँ।
    هل أنت بخير؟ ﷺﷺﷺ 👩\u200d👩\u200d👧\u200d👦 e\u0301a\u0308 xqzj0123456789abcdef한국어 a,b;c ### 1.2.3
    antidisestablishmentarianism \u200b \ufeff \x00 \ud800""".split()
)
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(WORDS, max_size=120).map(" ".join),
    st.lists(WORDS, max_size=60).map("".join),
    st.lists(WORDS, max_size=60).map("\n".join),
    st.tuples(WORDS, st.integers(1, 400)).map(lambda pair: pair[0] * pair[1]),
    st.sampled_from(HARD).map(lambda text: text[:4000]),
)


@pytest.fixture(scope="module")
def counts(minilm, e5):
    """By the tokenizer of each, with its family's prefix."""
    with Encoder(minilm) as bert, Encoder(e5) as unigram:
        yield {
            "all-minilm": lambda texts: bert.tokens(texts, whole=True).counts,
            "e5": lambda texts: unigram.tokens([f"passage: {text}" for text in texts], whole=True).counts,
        }


def words(texts):
    """A count that needs no model: words, and one for the start."""
    return [1 + len(text.split()) for text in texts]


def keys(found: list[Chunk]) -> set[str]:
    return {chunk.embedded for chunk in found}


@pytest.mark.parametrize("model", ["all-minilm", "e5"])
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(document=extracted(TEXTS), size=st.sampled_from((32, 64, 256)), overlap=st.integers(0, 40))
def test_any_text(counts, model, document, size, overlap):
    count = counts[model]
    found = chunks(document, count, size, overlap)
    covered = bytearray(len(document.text))
    for chunk in found:
        assert chunk.text == document.text[chunk.start : chunk.end]
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.tokens <= size
        covered[chunk.start : chunk.end] = b"\1" * (chunk.end - chunk.start)
    assert [chunk.tokens for chunk in found] == list(count([chunk.embedded for chunk in found]))
    assert not "".join(c for c, seen in zip(document.text, covered, strict=True) if not seen).strip()
    assert [chunk.start for chunk in found] == sorted({chunk.start for chunk in found})
    assert found == chunks(document, count, size, overlap)


def sentences(n: int, seed: int = 0, length: int = 9) -> list[str]:
    """Sentences of made-up words, no two alike."""
    draw = random.Random(seed)
    return [
        " ".join(f"w{draw.randrange(10**6)}" for _ in range(draw.randrange(3, 2 * length))).capitalize() + "."
        for _ in range(n)
    ]


def paragraphs(n: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(sentences(draw.randrange(1, 8), draw.randrange(10**9))) for _ in range(n)]


def test_no_passage_goes_on_into_the_next_section():
    one, two = " ".join(sentences(5, 1)), " ".join(sentences(5, 2))
    found = chunks(markdown(f"# Guide\n\n## Install\n\n{one}\n\n## Use\n\n{two}\n"), words, 256)
    assert [(chunk.heading, chunk.line) for chunk in found] == [("Guide > Install", 1), ("Guide > Use", 7)]
    assert found[1].text == f"## Use\n\n{two}"


def test_neighbours_of_a_few_words_are_one_passage():
    entries = "".join(f"## word{n}\n\nmeans this\n\n" for n in range(40))
    found = chunks(markdown(f"# Glossary\n\n{entries}"), words, 256)
    assert 3 <= len(found) <= 10
    assert {chunk.heading for chunk in found[1:]} == {"Glossary"}


def test_small_sections_under_other_parents_stay_apart():
    found = chunks(markdown("# A\n\n## x\n\nfirst\n\n# B\n\n## y\n\nsecond\n"), words, 256)
    assert [chunk.heading for chunk in found] == ["A > x", "B > y"]
    found = chunks(markdown("# A\n\n## x\n\nfirst\n\n# A\n\n## y\n\nsecond\n"), words, 256)
    assert [chunk.heading for chunk in found] == ["A > x", "A > y"]


def test_passages_end_with_paragraphs_and_repeat_whole_sentences():
    text = "\n\n".join(paragraphs(60, 3))
    found = chunks(markdown(text), words, 256, 32)
    starts = {text.find(sentence) for paragraph in text.split("\n\n") for sentence in paragraph.split(". ")}
    assert all(chunk.start in starts for chunk in found)
    assert all(chunk.end == len(text) or text[chunk.end : chunk.end + 2] == "\n\n" for chunk in found)
    repeated = [max(0, one.end - two.start) for one, two in pairwise(found)]
    assert sum(map(bool, repeated)) > len(repeated) / 2
    assert all(len(text[two.start : one.end].split()) <= 32 for one, two in pairwise(found))


def test_without_overlap_nothing_is_repeated():
    found = chunks(markdown("\n\n".join(paragraphs(60, 3))), words, 256, 0)
    assert all(one.end < two.start for one, two in pairwise(found))


def test_long_sentences_are_cut_at_clauses_then_at_words():
    clauses = ", ".join(" ".join(sentences(1, n))[:-1] for n in range(60))
    assert all(chunk.text.endswith(",") for chunk in chunks(plain(clauses), words, 64, 0)[:-1])
    run = " ".join(str(n) for n in range(2000))
    assert all(text in f" {run} " for text in (f" {chunk.text} " for chunk in chunks(plain(run), words, 64)))


@pytest.mark.parametrize("kind", ["paragraph", "code", "list"])
def test_an_edit_changes_its_neighbours_only(counts, kind):
    parts = paragraphs(400, 4)
    if kind == "code":
        parts = [part.replace(". ", "\n    ") for part in parts]
    if kind == "list":
        parts = [f"- {part}" for part in parts]
    between = "\n" if kind == "list" else "\n\n"
    before = keys(chunks(plain(between.join(parts), kind), counts["all-minilm"]))
    for at in (0, 57, 200, 399):
        for changed in ([], ["Another one."], paragraphs(3, 5)):
            after = keys(
                chunks(plain(between.join(parts[:at] + changed + parts[at + 1 :]), kind), counts["all-minilm"])
            )
            assert len(before & after) >= 0.9 * len(before)


def test_an_edit_of_what_is_all_alike_in_length():
    items = [f"- {sentence}" for sentence in (" ".join(f"w{n * 10 + k}" for k in range(7)) for n in range(600))]
    before = keys(chunks(plain("\n".join(items), "list"), words, 128))
    for at in (3, 300):
        after = keys(chunks(plain("\n".join(items[:at] + items[at + 1 :]), "list"), words, 128))
        assert len(before & after) >= 0.9 * len(before)


def test_an_edit_within_a_run_without_spaces(counts):
    draw = random.Random(6)
    run = "".join(chr(draw.randrange(0x0E01, 0x0E2F)) for _ in range(60_000))
    before = keys(chunks(plain(run), counts["e5"]))
    after = keys(chunks(plain(run[:30_000] + "ก" + run[30_001:]), counts["e5"]))
    assert len(before & after) >= 0.9 * len(before)


def test_code_is_cut_before_what_is_not_indented():
    functions = [f"def f{n}(x):\n" + "".join(f"    y{k} = x + {n * k}\n\n" for k in range(8)) for n in range(30)]
    found = chunks(plain("\n".join(functions), "code"), words, 128, 0)
    assert len(found) > 5
    assert all(chunk.text.startswith("def f") for chunk in found)


def test_rows_of_a_table_are_whole_and_come_once():
    rows = "\n".join(f"| {n} | {' '.join(sentences(1, n))} |" for n in range(100))
    found = chunks(plain(rows, "table"), words, 128)
    assert [line for chunk in found for line in chunk.text.splitlines()] == rows.splitlines()


@pytest.mark.parametrize(
    "unit", ["a", "word ", "x" * 150 + " ", "ก", "\u0301", "﷽", "\U0001f600", "ab cd, ", ". ", "\t\t\t\t\t\t\t\t\ta"]
)
def test_one_endless_line_is_cut_in_linear_time(counts, unit):
    counted = 0

    def count(texts):
        nonlocal counted
        counted += sum(map(len, texts))
        return counts["e5"](texts)

    line = unit * (200_000 // len(unit))
    found = chunks(plain(line), count)
    assert counted < 8 * len(line)
    assert max(len(chunk.text) for chunk in found) <= 256 * 16 + 1024


def test_titles_are_shortened_in_the_middle():
    titles = [" ".join(f"{name}{n}" for n in range(9)) for name in "abcdef"]
    text = "".join(f"{'#' * level} {title}\n\n" for level, title in enumerate(titles, 1))
    [found] = chunks(markdown(f"{text}The end."), words, 128)
    assert found.heading == f"{titles[0]} > … > {titles[4]} > {titles[5]}"
    [found] = chunks(markdown(f"# {'endless ' * 500}\n\nThe end."), words, 1024)
    assert found.heading.endswith("…")
    assert len(found.heading) <= 256


def test_marks_of_markdown_are_no_part_of_a_title():
    found = chunks(markdown("# C# ##\n\n" + " ".join(sentences(80))), words, 128)
    assert {chunk.heading for chunk in found} == {"C#"}


def test_pages_and_lines_are_those_of_the_start():
    text = "\n\n".join(paragraphs(50, 8))
    for chunk in chunks(markdown(text), words, 128):
        assert chunk.line == 1 + text.count("\n", 0, chunk.start)


def test_nothing_is_no_passage():
    assert chunks(plain(""), words) == []
    assert chunks(plain(" \n\t"), words) == []


def test_no_room():
    with pytest.raises(InputError, match="8 tokens leave no room for text: set at least 25"):
        chunks(plain("a"), words, 8)
    with pytest.raises(InputError, match="leave no room for 'a'"):
        chunks(plain("a"), lambda texts: [50 if text else 1 for text in texts], 32)


@pytest.mark.parametrize("before", ["The handbook", " ".join(sentences(12, 9))])
def test_what_stands_before_the_first_heading_is_not_under_it(before):
    found = chunks(markdown(f"{before}\n\n# Guide\n\nSome words.\n"), words, 256)
    assert [(chunk.heading, chunk.start) for chunk in found] == [("", 0), ("Guide", len(before) + 2)]


@pytest.mark.parametrize(
    ("name", "program"),
    [("a.py", "TIMEOUT = 3\n\nclass Zebra:\n    x = 1\n"), ("a.ts", "export const foo = 1;\n\nexport class B {\n}\n")],
)
def test_what_stands_before_a_class_is_not_in_it(name, program):
    first, second = chunks(extract(name, program.encode()), words)
    assert (first.heading, "class" in first.text) == (name, False)
    assert second.heading.startswith(f"{name} > ")


@pytest.mark.parametrize(
    ("title", "text", "headings"),
    [
        ("Handbook", "One.\n\n# Guide\n\nTwo.", ["Handbook", "Handbook > Guide"]),
        ("The guide", "# Top\n\n## Guide, the\n\nOne.", ["Top > Guide, the"]),
        ("Guide - of Foo", "# GUIDE\n\n## x\n\nOne.", ["Guide - of Foo > x"]),
        ("", "# Guide\n\nOne.", ["Guide"]),
        ("--", "One.", [""]),
    ],
)
def test_the_title_of_the_document_is_above_all_headings_that_do_not_say_it(title, text, headings):
    found = chunks(replace(markdown(text), title=title, type="pdf"), words)
    assert [chunk.heading for chunk in found] == headings


def test_a_text_is_the_same_passages_under_another_name():
    text = "# One\n\nWords.\n\n# Two\n\n" + " ".join(sentences(20))
    assert [chunk.heading for chunk in chunks(extract("a.md", text.encode()), words)] == ["One", "Two"]
    found = chunks(extract("a.md", f"---\ntitle: Both\n---\n{text}".encode()), words)
    assert [chunk.heading for chunk in found] == ["Both", "Both > One", "Both > Two"]
    assert chunks(extract("a.md", b"Words."), words) == chunks(extract("b.md", b"Words."), words)


def test_short_rows_are_one_passage_and_what_becomes_of_a_table_is_some_times_its_size():
    table = "a,b\n" + "1,2\n" * 5000
    found = chunks(extract("a.csv", table.encode()), estimate)
    assert len(found) < 5000 / 12
    assert sum(chunk.tokens for chunk in found) < 2 * len(table)


def test_names_of_columns_that_are_longer_than_their_rows_are_told_once_a_passage():
    names = ",".join(f"number of the column {n}" for n in range(30))
    table = f"{names}\n" + f"{','.join('x' * 30)}\n" * 300
    found = chunks(extract("a.csv", table.encode()), words, 256)
    assert all(chunk.heading.startswith("number of the column 0, number of") for chunk in found)
    assert sum(len(chunk.embedded) for chunk in found) < 6 * len(table)
    assert found[-1].line + found[-1].text.count("\n\n") == 301


def test_too_many_passages_are_told(monkeypatch):
    monkeypatch.setattr("bankml.documents.chunking.PASSAGES", 3)
    with pytest.raises(DocumentError, match="has more than 3 passages: split it, or leave it out"):
        chunks(plain(" ".join(sentences(200))), words, 64)


def test_the_columns_of_a_table_are_named_in_each_part_of_it():
    rows = "\n".join(f"| {n} | {' '.join(sentences(1, n))} |" for n in range(100))
    text = f"# Prices\n\n| Number | What it is |\n|---|---|\n{rows}\n\nAfter it.\n"
    start, end = text.index("| Number"), text.index("\n\nAfter")
    blocks = Block(0, 8, "heading", 1), Block(start, end, "table"), Block(end + 2, len(text), "paragraph")
    found = chunks(Extracted(text, "markdown", "", blocks, True), words, 64)
    assert [chunk.heading for chunk in found] == ["Prices", *["Prices > Number | What it is"] * (len(found) - 1)]
    assert len(found) > 10


def test_what_has_more_tokens_together_than_apart():
    def count(texts):
        return [1 + 3 * len(text.split()) // 2 for text in texts]  # a word alone is one, two are three

    text = "\n\n".join(paragraphs(40, 10))
    found = chunks(markdown(f"# Guide\n\n{text}"), count, 64)
    assert max(chunk.tokens for chunk in found) <= 64
    assert [chunk.start for chunk in found] == sorted({chunk.start for chunk in found})
    assert [chunk.line for chunk in found] == [1 + f"# Guide\n\n{text}".count("\n", 0, chunk.start) for chunk in found]
    assert [chunk.tokens for chunk in found] == count([chunk.embedded for chunk in found])
    assert set(text.split()) <= {word for chunk in found for word in chunk.text.split()}


def test_what_is_repeated_begins_with_a_sentence_even_if_those_are_long():
    draw = random.Random(11)
    long = [
        "So " + ", ".join(" ".join(f"w{draw.randrange(10**6)}" for _ in range(8)) for _ in range(10)) + "."
        for _ in range(60)
    ]
    text = " ".join(long)
    starts = {text.index(sentence) for sentence in long}
    found = chunks(plain(text), words, 256, 60)
    behind = [two.start for one, two in pairwise(found) if one.text.endswith(".")]
    assert len(behind) > 5
    assert set(behind) <= starts


def test_no_section_ends_in_a_passage_of_a_few_words():
    for n in range(20, 80):
        found = chunks(plain(" ".join(sentences(n, n))), words, 128, 0)
        assert len(found) == 1 or found[-1].tokens >= 128 // 4


def test_what_lies_between_blocks_is_not_lost():
    text = "before\n\n# Guide\n\nbetween\n\nparagraph\n\nbehind"
    blocks = Block(8, 15, "heading", 1), Block(26, 35, "paragraph", page=2)
    found = chunks(Extracted(text, "text", "", blocks, True), words)
    assert " ".join(chunk.text for chunk in found).split() == text.split()
