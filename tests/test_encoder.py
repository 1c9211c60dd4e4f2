"""The encoder of real weights, through the names that api.md promises."""

import copy
import multiprocessing
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import bankml
from bankml._engine import backends
from bankml.encoder import Encoder, chosen
from bankml.errors import ModelError, TooLongError
from bankml.models import Choice
from oracle import seeded

TEXTS = ["why is the sky blue?", "", "Der Himmel ist blau.", "天空是蓝色的。", "a" * 3000, "one two three"]
LONG = "the quick brown fox jumps over the lazy dog " * 200  # above 512 tokens


@pytest.fixture(scope="module")
def encoder(minilm):
    with Encoder(minilm) as encoder:
        yield encoder


def test_what_it_says_of_itself(encoder, minilm):
    assert (encoder.dims, encoder.context_length, encoder.arch, encoder.pooling) == (384, 512, "bert", "mean")
    assert encoder.name
    assert encoder.path == minilm
    assert encoder.backend in backends()
    assert len(encoder.digest.removeprefix("sha256:")) == 64
    assert "384 dimensions" in repr(encoder)


def test_vectors_are_float32_contiguous_unit_and_finite(encoder):
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_related_texts_are_nearer_than_others(encoder):
    sky, blue, bread = encoder.encode(["why is the sky blue?", "the reason for the sky's colour", "how to bake bread"])
    assert sky @ blue > 0.6 > 0.3 > sky @ bread


def test_no_text_gives_no_rows(encoder):
    assert encoder.encode([]).shape == (0, 384)


def test_any_iterable_is_taken(encoder):
    expected = encoder.encode(TEXTS)
    assert encoder.encode(text for text in TEXTS).tobytes() == expected.tobytes()
    assert encoder.encode(tuple(TEXTS)).tobytes() == expected.tobytes()


def test_a_lone_str_is_refused(encoder):
    with pytest.raises(bankml.InputError, match=r"pass a list"):
        encoder.encode("one text")


def test_a_text_that_is_no_str_is_named(encoder):
    with pytest.raises(bankml.InputError, match=r"text 1 is of type int") as error:
        encoder.encode(["one", 2])
    assert error.value.index == 1
    assert pickle.loads(pickle.dumps(error.value)).index == 1


def test_an_error_about_one_text_says_which(encoder):
    with pytest.raises(TooLongError) as error:
        encoder.encode([*["short"] * 900, LONG], truncate=False)
    assert error.value.index == 900
    with pytest.raises(bankml.InputError) as error:
        encoder.encode_ids([[101, 102], [101, 10**6, 102]])
    assert error.value.index == 1
    with pytest.raises(bankml.InputError) as error:
        encoder.encode("no list")
    assert error.value.index is None


@pytest.fixture(scope="module", params=["minilm", "e5"])
def either(request):
    """WordPiece and Unigram."""
    with Encoder(request.getfixturevalue(request.param)) as encoder:
        yield encoder


def test_odd_texts_have_vectors_alone_and_together(either, odd_texts):
    together = either.encode(odd_texts)
    assert np.isfinite(together).all()
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    assert np.concatenate([either.encode([text]) for text in odd_texts]).tobytes() == together.tobytes()


def test_a_text_of_nothing_is_its_special_tokens(either):
    opening, closing = either.tokenize("")
    expected = either.encode_ids([[opening, closing]]).tobytes()
    for text in ("", " ", "\t\n\r ", "\u3000\u00a0", " " * 5000):
        assert either.encode([text]).tobytes() == expected


def test_a_nul_or_a_control_ends_no_text(either):
    expected = either.tokenize("one two three")
    assert either.tokenize("one \0 two three")[-3:] == expected[-3:]  # an unknown character to XLM-R, nothing to BERT
    for control in "\1\x1f\x7f":
        assert either.tokenize(f"one {control}two three") == expected


def test_a_lone_surrogate_is_the_replacement_character(either):
    for text in ("a \ud800 b", "\udfff", "\ud83d\ud83d\ude00", "\ude00\ud83d", "x\udc80"):
        # A high and a low one beside each other are two in a str, not one character.
        replaced = "".join("\ufffd" if 0xD800 <= ord(character) < 0xE000 else character for character in text)
        assert either.tokenize(text) == either.tokenize(replaced)
        assert either.encode([text]).tobytes() == either.encode([replaced]).tobytes()


@pytest.mark.parametrize("unit", ["word ", "天", "\0", "\ud800", " "])
def test_twenty_megabytes(either, unit):
    text = unit * (20_000_000 // len(unit.encode("utf-8", "surrogatepass")))
    whole, cut = either.encode_full([text, "one"]), either.encode_full([text[:10_000], "one"])
    assert whole.tokens.tolist() == cut.tokens.tolist()
    assert whole.vectors.tobytes() == cut.vectors.tobytes()
    assert bool(whole.truncated[0]) == (whole.tokens[0] == either.context_length)


def test_a_text_of_8192_tokens_among_short_ones(long_positions, odd_texts):
    with Encoder(long_positions) as encoder:
        words = [piece for piece in (encoder.piece(k).decode("utf-8", "replace") for k in range(4, 300)) if piece]
        text = "".join(words * 60)
        ids = encoder.tokenize(text)
        assert len(ids) > 8192
        while len(ids := encoder.tokenize(text)) > 8192:
            text = text[: -max(1, (len(ids) - 8192) // 4)]
        short = ["one", *odd_texts, "two"]
        texts = [*short[:5], text, *short[5:], text]
        encoded = encoder.encode_full(texts, truncate=False)
        assert encoded.tokens[5] == encoded.tokens[-1] == len(ids)
        assert len(ids) in range(8180, 8193)
        assert encoder.encode([text]).tobytes() == encoded.vectors[5].tobytes() == encoded.vectors[-1].tobytes()
        assert encoder.encode(short).tobytes() == np.delete(encoded.vectors, [5, len(texts) - 1], 0).tobytes()


def test_not_normalized_points_the_same_way(encoder):
    raw = encoder.encode(TEXTS[:1], normalize=False)
    assert not np.isclose(np.linalg.norm(raw), 1, atol=1e-3)
    np.testing.assert_allclose(raw / np.linalg.norm(raw), encoder.encode(TEXTS[:1]), atol=1e-6)


@pytest.mark.parametrize("dimensions", [None, 0, -1, 384, 4096])
def test_dimensions_that_change_nothing(encoder, dimensions):
    assert encoder.encode(TEXTS[:1], dimensions=dimensions).tobytes() == encoder.encode(TEXTS[:1]).tobytes()


def test_dimensions_cut_then_normalize(encoder):
    cut = encoder.encode(TEXTS[:1], dimensions=128)
    whole = encoder.encode(TEXTS[:1], normalize=False)[:, :128]
    assert cut.shape == (1, 128)
    np.testing.assert_allclose(cut, whole / np.linalg.norm(whole), atol=1e-6)


def test_full_reports_tokens_and_truncation(encoder):
    full = encoder.encode_full(["hello world", LONG, ""])
    assert full.tokens.tolist() == [4, 512, 2]
    assert full.truncated.tolist() == [False, True, False]
    assert full.vectors.tobytes() == encoder.encode(["hello world", LONG, ""]).tobytes()


def test_a_text_above_the_limit_is_refused_when_asked(encoder):
    with pytest.raises(bankml.InputError, match="512"):
        encoder.encode([LONG], truncate=False)


def test_max_tokens_lowers_the_limit(encoder):
    full = encoder.encode_full([LONG], max_tokens=16)
    assert full.tokens.tolist() == [16]
    ids = encoder.tokenize(LONG)
    assert full.vectors.tobytes() == encoder.encode_ids([[*ids[:15], ids[-1]]]).tobytes()
    assert encoder.encode_full([LONG], max_tokens=100_000).tokens.tolist() == [512]


@pytest.mark.parametrize("max_tokens", [2, 1, 0, -5])
def test_a_limit_without_room_for_a_text_is_refused(encoder, max_tokens):
    for call in (encoder.encode_full, encoder.tokens):
        with pytest.raises(bankml.InputError, match=rf"max_tokens is {max_tokens}; give 3 "):
            call(["a"], max_tokens=max_tokens)
    assert encoder.encode_full([LONG], max_tokens=3).tokens.tolist() == [3]


def test_ids_give_the_same_bits_as_the_text(encoder):
    ids = [encoder.tokenize(text) for text in TEXTS[:4]]
    assert encoder.encode_ids(ids).tobytes() == encoder.encode(TEXTS[:4]).tobytes()


def test_pieces(encoder):
    assert [encoder.piece(token) for token in encoder.tokenize("sky")] == [b"[CLS]", "▁sky".encode(), b"[SEP]"]


def test_eight_threads_get_the_same_bits(encoder):
    expected = [encoder.encode([text]).tobytes() for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda k: encoder.encode([TEXTS[k % 6]]).tobytes(), range(48)))
    assert got == [expected[k % 6] for k in range(48)]


def test_a_question_whether_to_cancel_that_encodes_is_an_error(encoder):
    """It would wait for the pass that waits for its answer."""
    before = encoder.encode(["a"])
    with pytest.raises(bankml.InputError, match="`cancelled` was asked by a pass and encodes itself"):
        encoder.encode_full([LONG] * 2000, cancelled=lambda: encoder.encode(["a"]) is None)
    assert encoder.encode(["a"]).tobytes() == before.tobytes()


def test_a_child_forked_by_the_question_may_encode(encoder):
    """The pass that asks is the parent's; the child has a pool of its own."""
    asked, expected = [], encoder.encode(["a"]).tobytes()

    def in_a_child():
        if not asked:
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if encoder.encode(["a"]).tobytes() == expected else 1)
                finally:
                    os._exit(2)
            asked.append(os.waitpid(child, 0)[1])
        return True

    with pytest.raises(bankml.Error):
        encoder.encode_full([LONG] * 2000, cancelled=in_a_child)
    assert asked == [0]


def test_cancelled_work_stops(encoder):
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    started = time.perf_counter()
    with pytest.raises(bankml.Error):
        encoder.encode_full([LONG] * 20_000, cancelled=stop.is_set)
    assert time.perf_counter() - started < 30  # ten times as much work
    assert encoder.encode(["healthy"]).shape == (1, 384)


def test_a_closed_encoder_says_so(minilm):
    encoder = Encoder(minilm)
    encoder.close()
    encoder.close()
    with pytest.raises(bankml.InputError, match="closed"):
        encoder.encode(["a"])


def test_a_missing_file_is_a_model_error(tmp_path):
    with pytest.raises(bankml.ModelError, match=r"nothing\.gguf"):
        Encoder(tmp_path / "nothing.gguf")


def test_an_unknown_backend_is_never_replaced(minilm, monkeypatch):
    with pytest.raises(bankml.InputError, match="sse9"):
        Encoder(minilm, backend="sse9")
    monkeypatch.setenv("BANKML_BACKEND", "sse9")
    with pytest.raises(bankml.InputError, match=r"BANKML_BACKEND is 'sse9': set it to .*choose one of: .*scalar"):
        Encoder(minilm)


def test_threads_and_backends_are_chosen(minilm, encoder):
    with Encoder(minilm, threads=1) as single:
        assert single.threads == 1
        assert single.encode(TEXTS[:4]).tobytes() == encoder.encode(TEXTS[:4]).tobytes()
    with Encoder(minilm, backend="scalar") as scalar:
        assert scalar.backend == "scalar"
        np.testing.assert_allclose(scalar.encode(TEXTS[:2]), encoder.encode(TEXTS[:2]), atol=1e-5)


def test_load_by_name_and_by_path(minilm, encoder):
    expected = encoder.encode(TEXTS[:1]).tobytes()
    for name in ("all-minilm", str(minilm)):
        with bankml.load(name) as loaded:
            assert loaded.encode(TEXTS[:1]).tobytes() == expected


def test_bge_m3_has_1024_dimensions_and_nothing_else_is_held_to_that(tmp_path: Path) -> None:
    path = seeded.tiny(tmp_path / "model.gguf", pooling="cls")
    with pytest.raises(ModelError, match=r"bge-m3:latest has 64 dimensions, bge-m3 has 1024"):
        chosen(Choice("bge-m3:latest", "ollama", path, "as asked"))
    with pytest.raises(ModelError, match=r"bge-m3 has 64 dimensions, bge-m3 has 1024"):
        chosen(Choice("bge-m3", "hub", path, "as asked"))
    assert chosen(Choice("mxbai-embed-large:latest", "ollama", path, "as asked")).dims == 64


def test_what_a_file_leaves_unsaid_is_a_warning(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = seeded.tiny(tmp_path / "model.gguf")
    Encoder(path).close()
    assert not recwarn.list
    path.write_bytes(path.read_bytes().replace(b"tokenizer.ggml.token_type\x09", b"tokenizer.ggml.token_typo\x09"))
    with pytest.warns(bankml.ModelWarning, match=r"model\.gguf: tokenizer\.ggml\.token_type is absent: .* as text$"):
        Encoder(path).close()


def test_a_path_is_bytes(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"odd\xff.gguf")
    with pytest.raises(ModelError, match=r"odd.*cannot be opened"):
        Encoder(path)
    seeded.tiny(path)
    with Encoder(path) as encoder:
        assert encoder.encode(["a"]).shape == (1, 64)
        assert len(encoder.digest) == 64


def test_only_a_text_that_is_too_long_is_too_long(minilm):
    encoder = Encoder(minilm)
    with pytest.raises(TooLongError, match="512"):
        encoder.encode([LONG], truncate=False)
    encoder.close()
    with pytest.raises(bankml.InputError, match="closed") as error:
        encoder.encode([LONG], truncate=False)
    assert not isinstance(error.value, TooLongError)


def test_a_path_object_and_a_tilde_are_files(minilm, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "plain").symlink_to(minilm)  # no ".gguf", no slash: only as a Path it is a file
    monkeypatch.chdir(tmp_path)
    for name in (minilm, Path("plain"), "~/plain", Path("~/plain")):
        with bankml.load(name) as encoder:
            assert encoder.dims == 384


@pytest.mark.parametrize("name", [3, b"x", "", ["a"], 0])
def test_a_name_that_is_none(name):
    with pytest.raises(bankml.InputError, match=r"give a path"):
        bankml.load(name)


@pytest.mark.parametrize("texts", [None, 3])
def test_texts_that_are_no_list(encoder, texts):
    with pytest.raises(bankml.InputError, match=r"pass a list of str"):
        encoder.encode(texts)


@pytest.mark.parametrize("text", [["a"], None, b"a"])
def test_tokenize_takes_a_str(encoder, text):
    with pytest.raises(bankml.InputError, match=r"the text is of type (list|NoneType|bytes)"):
        encoder.tokenize(text)


@pytest.mark.parametrize("threads", ["2", 10**12, -1, 1.5])
def test_threads_that_are_no_number_of_threads(minilm, threads):
    with pytest.raises(bankml.InputError, match=r"threads is .* from 0 \(one per core\) to 1024"):
        Encoder(minilm, threads=threads)


@pytest.mark.parametrize("path", [3, None, "", b"x"])
def test_a_path_that_is_none(path):
    with pytest.raises(bankml.InputError, match=r"give the path of a GGUF file"):
        Encoder(path)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda encoder: pickle.loads(pickle.dumps(encoder))])
def test_a_copy_works_by_itself(minilm, copied):
    with Encoder(minilm, 1, pooling="cls", name="mine") as encoder:
        expected = encoder.encode(TEXTS).tobytes()
        other = copied(encoder)
    assert (other.name, other.threads, other.pooling) == ("mine", 1, "cls")
    assert other.encode(TEXTS).tobytes() == expected


def test_a_spawned_process_gets_an_encoder(encoder):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(encoder_bits, (encoder,)) == encoder_bits(encoder)


def encoder_bits(encoder: Encoder) -> bytes:
    return encoder.encode(TEXTS).tobytes()
