"""Floor and curve of a model: what ships, the user's own, and files that hold anything else."""

import json
import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.encoder import Encoder
from bankml.errors import InputError, ModelWarning
from bankml.memory import calibration
from bankml.memory.calibration import Calibration
from bankml.models.presets import ALL_MINILM_L6_V2, MULTILINGUAL_E5_SMALL
from bankml.settings import Settings

ONE = Calibration("m", "0" * 64, 0.3, -4.0, 6.0, 1.0)
numbers = st.floats(-1e6, 1e6)
some = st.builds(Calibration, st.text(), st.text("0123456789abcdef", min_size=64, max_size=64), *[numbers] * 4)


@pytest.fixture
def settings() -> Settings:
    found = Settings.read()
    found.home.mkdir()
    return found


def keep(settings: Settings, *calibrations: Calibration) -> None:
    content = calibration.written({one.digest: one for one in calibrations})
    (settings.home / calibration.NAME).write_bytes(content)


def test_the_built_ins_that_were_measured_ship_theirs(minilm: Path, e5: Path, settings: Settings) -> None:
    for file, name, low, high, spread in (
        (minilm, ALL_MINILM_L6_V2.name, 0.2, 0.4, 0.12),
        (e5, MULTILINGUAL_E5_SMALL.name, 0.8, 0.9, 0.03),
    ):
        with Encoder(file) as encoder:
            found = calibration.of(encoder.digest, settings)
        assert found is not None
        assert found.model == name
        assert low < found.floor < high
        assert found.score(1.0, 1.0) > 0.95
        assert 0.35 < found.score(found.floor, 0.15) < 0.65  # the floor and an even chance are nearly the same
        assert found.score(found.floor + spread, 0.15) > 0.8
        assert found.score(found.floor - spread, 0.15) < 0.2


def test_a_model_that_was_not_measured_has_none(settings: Settings) -> None:
    assert calibration.of("f" * 64, settings) is None


def test_the_users_own_wins_and_others_stay(minilm: Path, settings: Settings) -> None:
    shipped = list(calibration.shipped().values())
    own = replace(shipped[0], floor=0.5)
    keep(settings, own)
    assert calibration.of(own.digest, settings) == own
    assert calibration.of(shipped[1].digest, settings) == shipped[1]


def test_a_score_is_the_logistic_of_both() -> None:
    assert ONE.score(0.5, 0.25) == pytest.approx(1 / (1 + math.exp(4 - 3 - 0.25)))


@given(some, st.floats(-1, 1), st.floats(0, 1))
def test_a_score_is_a_probability_and_grows_with_the_cosine(one: Calibration, cosine: float, coverage: float) -> None:
    score = one.score(cosine, coverage)
    assert 0 <= score <= 1
    assert (one.by_cosine > 0) <= (one.score(1, coverage) >= score)


@given(st.lists(some))
def test_what_was_written_is_read(calibrations: list[Calibration]) -> None:
    known = {one.digest: one for one in calibrations}
    content = calibration.written(known)
    assert [replace(one, model="") for one in calibration.parsed(content).values()] == [
        replace(one, model="") for one in sorted(known.values(), key=lambda each: (each.model, each.digest))
    ]
    assert calibration.written(dict(reversed(known.items()))) == content


@given(
    st.binary() | st.recursive(st.none() | st.text() | numbers, lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_any_bytes_are_calibrations_or_one_sentence(content: object) -> None:
    with suppress(InputError):
        calibration.parsed(content if isinstance(content, bytes) else json.dumps(content).encode())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b'{"calibrations": 1}',
        b'{"calibrations": [1]}',
        *(
            json.dumps({"calibrations": [ONE.entry | {name: value}]}).encode()
            for name in ("floor", "intercept", "by_cosine", "by_coverage")
            for value in (None, "0.3", True, float("nan"), float("inf"), 1e7, 10**400, [])
        ),
        *(
            json.dumps({"calibrations": [ONE.entry | {"digest": value}]}).encode()
            for value in (None, 7, "", "0" * 63, "G" * 64)
        ),
        json.dumps({"calibrations": [{**ONE.entry, "model": None}]}).encode(),
        b" " * (calibration.MAX_BYTES + 1),
    ],
)
def test_a_damaged_file_gives_none_and_says_so(content: bytes, settings: Settings) -> None:
    (settings.home / calibration.NAME).write_bytes(content)
    with pytest.warns(ModelWarning, match=r"calibrations\.json holds no calibrations .*remove it"):
        assert calibration.of(next(iter(calibration.shipped())), settings) is None


def test_a_folder_in_its_place_is_told(settings: Settings) -> None:
    (settings.home / calibration.NAME).mkdir()
    with pytest.warns(ModelWarning, match="cannot be read"):
        assert calibration.of(ONE.digest, settings) is None
