"""`bankml eval --calibrate` with MiniLM on a FAQ of five sections in two languages."""

import json
from pathlib import Path

import pytest

from bankml.encoder import Encoder
from bankml.memory import calibration
from bankml.settings import Settings
from tests import debian


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vectors")


@pytest.fixture
def arguments(tmp_path: Path, minilm: Path, vectors: Path) -> list[str]:
    """With the vectors of the test before: they are the same."""
    home = Settings.read().home
    home.mkdir()
    (home / "eval").symlink_to(vectors)
    return ["eval", "--calibrate", "--data", str(debian.packages(tmp_path / "data")), "-l", "en", "-m", str(minilm)]


def test_json_and_the_users_file(here, arguments, minilm: Path) -> None:
    home = Settings.read().home
    other = calibration.Calibration("other", "1" * 64, 0.5, 0.0, 1.0, 0.0)
    (home / calibration.NAME).write_bytes(calibration.written({other.digest: other}))
    done = here(*arguments, "--json")
    assert done.status == 0, done.err
    (found,) = done.out.lines
    assert found["written"] == str(home / calibration.NAME)
    assert [one["language"] for one in found["data"]["languages"]] == ["en"]
    (model,) = found["models"]
    with Encoder(minilm) as encoder:
        own = calibration.of(encoder.digest, Settings.read())
    assert own is not None
    assert model["calibration"] == own.entry
    assert calibration.read(home / calibration.NAME)["1" * 64] == other
    (line,) = model["figures"]
    assert (line["scope"], line["questions"], line["probes"]) == ("all", 4, 64)
    assert line["auc_cosine"] > 0.9
    assert line["auc_score"] > 0.9
    assert sum(one["count"] for one in model["reliability"]) == 4 * 2 + 64 * 3
    assert model["roc"]["score"][0] == [0, 0]
    assert 0.1 < own.floor < 0.6


def test_the_same_bytes_twice_and_a_picture(here, arguments, tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        paths = tmp_path / f"{name}.json", tmp_path / f"{name}.svg"
        done = here(*arguments, "--output", str(paths[0]), "--plot", str(paths[1]))
        assert done.status == 0, done.err
        written.append([path.read_bytes() for path in paths] + [done.out])
    assert written[0] == written[1]
    assert len(json.loads(written[0][0])["calibrations"]) == 1
    assert written[0][1].startswith(b"<svg ")
    assert not (Settings.read().home / calibration.NAME).exists()


def test_several_languages_are_told_one_by_one(here, arguments) -> None:
    done = here(*arguments, "-l", "de", "--json")
    assert done.status == 0, done.err
    (model,) = done.out.lines[0]["models"]
    assert [line["scope"] for line in model["figures"]] == ["all", "en", "de", "others → English"]
    assert model["languages"] == ["en", "de"]


def test_a_damaged_file_is_told_and_replaced(here, arguments) -> None:
    place = Settings.read().home / calibration.NAME
    place.write_text("{")
    done = here(*arguments)
    assert done.status == 0, done.err
    assert b"holds no calibrations" in done.err
    assert len(calibration.read(place)) == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--output", "/proc/x.json"], "/proc/x.json cannot be written"),
        (["--plot", "x.png"], "name a file that ends in .svg"),
        (["-m", "/nowhere.gguf"], "/nowhere.gguf"),
    ],
)
def test_refusals_are_one_sentence(here, arguments, more, words) -> None:
    done = here(*arguments, *more, "--json")
    assert done.status == 1
    assert words in done.out.lines[0]["error"]


def test_output_without_calibrating(here, arguments) -> None:
    done = here("eval", *arguments[2:], "--output", "x.json")
    assert done.status == 1
    assert b"give --calibrate too" in done.err
