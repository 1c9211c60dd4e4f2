"""The operations that rates are computed from, and texts that are the same in every run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bankml import Encoder
from bench import cases, corpus, engines
from oracle import seeded


@pytest.fixture(autouse=True)
def real(models_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real models and texts, from where they are kept between runs."""
    monkeypatch.setenv("BANKML_HOME", str(models_home))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seeded.tiny(tmp_path_factory.mktemp("cases") / "tiny.gguf", layers=3, hidden=64, heads=4, ffn=128)


def test_operations_of_a_graph_counted_by_hand(tiny: Path) -> None:
    products = 3 * 2 * (64 * 64 * 4 + 64 * 128 * 2)  # a token
    attention = 3 * 2 * (64 + 64)  # a token and key: scores and sums of values
    assert cases.operations(tiny, [10]) == 10 * products + 100 * attention
    assert cases.operations(tiny, [10, 3]) == 13 * products + 109 * attention


def test_bytes_of_the_layers_are_all_but_tables(tiny: Path) -> None:
    matrices, vectors = 3 * 2 * (64 * 64 * 4 + 64 * 128 * 2), 3 * 4 * (64 * 4 + 128 + 64 + 4 * 64)
    assert cases.layer_bytes(tiny) == matrices + vectors


def test_texts_have_their_lengths_and_never_change() -> None:
    texts = cases.BGE_M3.texts([15, 2, 512])
    assert [len(ids) for ids in texts] == [15, 2, 512]
    assert all((ids[0], ids[-1]) == (0, 2) for ids in texts)
    assert texts == cases.BGE_M3.texts([15, 2, 512])


def test_e5s_texts_can_be_written() -> None:
    path = cases.E5_SMALL.path()
    with Encoder(path) as encoder:
        for ids in cases.E5_SMALL.texts([15, 32, 512]):
            text = b"".join(map(encoder.piece, ids[1:-1])).decode().replace("\u2581", " ").strip()
            assert text.startswith("query: ")
            assert encoder.tokenize(text) == ids


@pytest.fixture
def paragraphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Paragraphs of a licence, alone and by threes, in place of the Debian FAQ, which has to be downloaded."""
    alone = corpus.PROSE.read_text(encoding="utf-8").split("\n\n")
    texts = [*alone, *map("\n\n".join, zip(alone, alone[1:], alone[2:], strict=False))]
    monkeypatch.setattr(corpus.sections, "sections", lambda language: texts)
    corpus.mixed.cache_clear()
    corpus.mixed_texts.cache_clear()
    yield
    corpus.mixed.cache_clear()
    corpus.mixed_texts.cache_clear()


@pytest.mark.usefixtures("paragraphs")
def test_mixed_texts_are_real_and_stand_beside_as_many_tokens_of_one_length() -> None:
    mixed, equal = (
        case.texts(case.model) for case in cases.FULL if case.model is cases.MINILM and " x " not in case.name
    )
    lengths = list(map(len, mixed))
    assert corpus.SHORTEST <= min(lengths) < 100 < 250 < max(lengths) <= corpus.LONGEST
    assert sum(lengths) >= corpus.TOKENS
    assert len({len(ids) for ids in equal}) == 1
    assert len(equal) == len(mixed)
    assert abs(sum(map(len, equal)) - sum(lengths)) <= len(mixed) / 2


def test_the_quick_cases_are_those_of_the_readme() -> None:
    assert [str(case) for case in cases.QUICK if case.model is cases.BGE_M3] == [
        f"bge-m3 shape F16 {name}" for name in ("1 x 15", "1 x 512", "8 x 483")
    ]
    assert {case.model for case in cases.QUICK} == {cases.MINILM, cases.E5_SMALL, cases.BGE_M3, cases.BGE_M3_Q8_0}


def test_the_full_cases_reach_every_position_and_the_longest_come_last() -> None:
    assert len({str(case) for case in cases.FULL}) == len(cases.FULL)
    assert {str(case) for case in cases.QUICK} <= {str(case) for case in cases.FULL}
    names = [case.name for case in cases.FULL if case.model is cases.BGE_M3]
    assert names[:5] == ["1 x 2", "1 x 15", "1 x 32", "1 x 128", "1 x 512"]
    assert names[-2:] == ["1 x 2048", "1 x 8192"]
    assert "1 x 2048" not in [case.name for case in cases.FULL if case.model is cases.MINILM]


def test_only_the_longest_leaves_peers_out_and_says_so() -> None:
    left = {str(case): dict(case.left_out) for case in cases.FULL if case.left_out}
    assert set(left) == {"bge-m3 shape F16 1 x 8192", "bge-m3 shape Q8_0 1 x 8192"}
    assert all(set(peers) == {engines.ORT_INT8, engines.OPENVINO} for peers in left.values())
    assert all(why for peers in left.values() for why in peers.values())
