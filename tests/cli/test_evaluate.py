"""`bankml eval` with MiniLM on a FAQ of five sections in two languages."""

from pathlib import Path

import pytest

from bankml.evaluation import faq, summary
from tests import debian


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(debian.packages(tmp_path_factory.mktemp("data")))


@pytest.fixture
def arguments(folder: str, minilm: Path) -> list[str]:
    return ["eval", "--data", folder, "-l", "de", "-l", "en", "--model", str(minilm)]


def test_json(here, arguments, minilm) -> None:
    done = here(*arguments, "--json")
    assert done.status == 0, done.err
    (found,) = done.out.lines
    assert list(found) == ["data", "candidates", "resamples", "seed", "confidence", "models"]
    assert [(one["language"], one["documents"], one["queries"]) for one in found["data"]["languages"]] == [
        ("en", 5, 4),
        ("de", 4, 3),
    ]
    assert not any(one["verified"] for one in found["data"]["languages"])
    (model,) = found["models"]
    assert (model["model"], model["dims"], model["cut"]) == (minilm.stem, 384, {"en": 0, "de": 0})
    rows = {(row["scope"], row["method"]): row for row in model["results"]}
    assert set(rows) >= {(scope, method) for scope in summary.SCOPES for method in summary.NAMES}
    english = rows["en", "meaning"]
    assert list(english) == ["scope", "method", "queries", "recall@10", "MRR", "nDCG@10"]
    assert english["queries"] == 4
    assert english["nDCG@10"]["mean"] > 0.8  # it knows English
    assert english["nDCG@10"]["low"] <= english["nDCG@10"]["mean"] <= english["nDCG@10"]["high"]
    assert rows["de → en", "words"]["queries"] == 3
    assert {row["scope"] for row in model["differences"]} == {*summary.SCOPES, "en", "de"}


def test_the_same_twice(here, arguments) -> None:
    assert here(*arguments, "--json").out == here(*arguments, "--json").out


def test_a_table_and_a_picture(here, arguments, tmp_path: Path, minilm) -> None:
    plot = tmp_path / "figures.svg"
    done = here(*arguments, "--plot", str(plot))
    assert done.status == 0, done.err
    lines = [line.split("\t") for line in done.out.decode().splitlines()]
    assert all(len(line) == 8 and line[0] == minilm.stem for line in lines)
    assert ["same language", "RRF k=60", "7"] in [line[1:4] for line in lines]
    assert plot.read_text().startswith("<svg ")
    assert b"is not the package 11.1" in done.err
    assert b"0 of 9 documents were cut" in done.err


def test_a_terminal_gets_a_drawn_table(terminal, arguments) -> None:
    status, shown = terminal(*arguments)
    assert status == 0
    assert "nDCG@10, 95%" in shown


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-l", "sv"], "'sv' is no language of the Debian FAQ"),
        (["-l", "ja"], "has neither debian-faq-ja_11.1_all.deb"),
        (["--plot", "x.png"], "name a file that ends in .svg"),
        (["--plot", "/proc/x.svg"], "cannot be written"),
        (["--data", "/nowhere", "-l", "ja"], "/nowhere is no folder"),
    ],
)
def test_refusals_are_one_sentence(here, arguments, more, words) -> None:
    done = here(*arguments, *more, "--json")
    assert done.status == 1
    (found,) = done.out.lines
    assert words in found["error"]


def test_a_damaged_package(here, arguments, folder, tmp_path: Path) -> None:
    path = tmp_path / faq.file_name("en")
    path.write_bytes((Path(folder) / path.name).read_bytes()[:-30])
    done = here("eval", "--data", str(tmp_path), "-l", "en", *arguments[-2:])
    assert done.status == 1
    assert f"{path} cannot be read: it ends before".encode() in done.err


def test_pages_without_a_question(here, tmp_path: Path, arguments) -> None:
    (tmp_path / "a.en.html").write_text(debian.page({"a": ("No question", "and no answer")}))
    done = here("eval", "--data", str(tmp_path), "-l", "en", *arguments[-2:])
    assert done.status == 1
    assert f"{tmp_path} holds no question with its answer".encode() in done.err
