"""Unigram against SentencePiece with the same vocabulary, scores and character map, id for id."""

import pytest
from sentencepiece import SentencePieceProcessor

from bankml._engine import Engine
from oracle.token_references import XlmRoberta, xlmr_ids

TIES = 0.01  # SentencePiece sums in f32: of equal scores it may see one as greater


def test_random_texts_give_sentencepieces_ids(
    unigram: Engine, sentence_piece: SentencePieceProcessor, xlmr: XlmRoberta, texts: list[str]
) -> None:
    ties = 0
    for text in texts:
        ours, theirs = unigram.tokenize(text)[0], xlmr_ids(sentence_piece, text)
        if ours != theirs:
            assert xlmr.score(ours) == xlmr.score(theirs), ascii(text)
            ties += 1
    assert ties <= TIES * len(texts)


def test_every_code_point_gives_sentencepieces_ids(unigram: Engine, sentence_piece: SentencePieceProcessor) -> None:
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for i in range(0, len(points), 64):
        text = "".join(f"{chr(c)} " for c in points[i : i + 64])
        assert unigram.tokenize(text)[0] == xlmr_ids(sentence_piece, text), ascii(text)


SAME = [  # texts, and what they must be tokenized like
    *(("a\tb", "a b"), ("a\nb", "a b"), ("a\fb", "a b"), ("a\rb", "a b"), ("a\u00a0b", "a b"), ("a\u3000b", "a b")),
    *((f"a{c}b", "a b") for c in "\u2581\u200b\u200c\u200d\u200e\u200f\u2028\u2029\ufeff\ufffd"),
    *((f"a{chr(c)}b", "ab") for c in (*range(1, 9), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F)),
    *(("ﬁ", "fi"), ("\uff21", "A"), ("①", "1"), ("½", "1\u20442"), ("㎏", "kg"), ("™", "TM"), ("…", "...")),
    ("\ufdfa", "صلى الله عليه وسلم"),
    *(("e\u0301", "é"), ("か\u3099", "が"), ("\u1100\u1161", "가"), ("\u0627\u0653", "\u0622")),
    *((" a  b ", "a b"), ("\u3000\u3000", ""), (" \t\n", "")),
]


@pytest.mark.parametrize(("text", "same"), SAME, ids=lambda text: ascii(text))
def test_mapped_text_is_its_replacement(unigram: Engine, text: str, same: str) -> None:
    assert unigram.tokenize(text) == unigram.tokenize(same)


@pytest.mark.parametrize("c", ["\0", "\x85", "\xad", "\u2060", "\u180e", "\ufe0f", "😀", "\uff5e", "\u301c"], ids=ascii)
def test_these_characters_stay(unigram: Engine, sentence_piece: SentencePieceProcessor, c: str) -> None:
    assert unigram.tokenize(f"a{c}b")[0] == xlmr_ids(sentence_piece, f"a{c}b")
    assert unigram.tokenize(f"a{c}b") not in (unigram.tokenize("ab"), unigram.tokenize("a b"))


def test_longest_match_may_end_inside_a_cluster(unigram: Engine, sentence_piece: SentencePieceProcessor) -> None:
    text = "\u1e9b\u0323"
    assert unigram.tokenize(text)[0] == xlmr_ids(sentence_piece, text)


def test_a_lone_surrogate_is_the_replacement_character(unigram: Engine) -> None:
    for surrogate in "\ud800\udbff\udc00\udfff":
        assert unigram.tokenize(f"x{surrogate}y")[0] == unigram.tokenize("x\ufffdy")[0]
    for neighbour in "\ud7ff\ue000":  # the code points beside them are what they are
        assert unigram.tokenize(f"x{neighbour}\ud800")[0] == unigram.tokenize(f"x{neighbour}\ufffd")[0]


def test_special_text_is_a_token_only_when_asked(unigram: Engine, sentence_piece: SentencePieceProcessor) -> None:
    for text in ("a</s>b", "<s>", "<unk> <pad>", "</s</s>"):
        assert unigram.tokenize(text)[0] == xlmr_ids(sentence_piece, text)
    assert unigram.tokenize("</s>", parse_special=True)[0] == [0, 2, 2]
    hello, world = unigram.tokenize("hello")[0][1:-1], unigram.tokenize("world")[0][1:-1]
    assert unigram.tokenize("hello</s>world<pad>", parse_special=True)[0] == [0, *hello, 2, *world, 1, 2]
