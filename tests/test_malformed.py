"""Hostile files: a sentence that names the fault, at once, in little memory, and the engine goes on."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bankml import Encoder, InputError, ModelWarning, errors
from bankml.errors import TooLongError
from tests import load_malformed
from tests.malformed import TEXT, Case, Change, cases
from tests.raw_gguf import (
    HIDDEN,
    I16,
    POSITIONS,
    STRING,
    U8,
    U16,
    U32,
    U64,
    WORDPIECE,
    Gguf,
    array,
    number,
    numbers,
    string,
    strings,
    valid,
)

CASES = cases()
SECONDS = 1.0  # of CPU, though milliseconds are used
MEMORY = 50 << 20
Report = dict[str, Any]


@pytest.fixture(scope="module")
def reports(models_home: Path) -> list[Report]:
    """A report for each case. A process that dies is started again behind the case that killed it."""
    found: list[Report] = []
    while len(found) < len(CASES):
        command = [sys.executable, "-m", "tests.load_malformed", str(len(found))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=Path(__file__).parents[1])
        lines = done.stdout.splitlines()
        assert lines, done.stderr
        found += [json.loads(line) for line in lines if line.startswith("{")]
        if len(found) < len(CASES):
            found.append({"died": f"with status {done.returncode}: {done.stderr[-500:]}"})
    return found


def report_of(case: Case, reports: list[Report]) -> Report:
    """The case's report, of a process that did not die."""
    report = reports[CASES.index(case)]
    assert "died" not in report, f"{case.name}: died {report['died']}"
    return report


def check_sentence(sentence: str, case: Case) -> None:
    """One printable line, short, that names the file once, the fault and the remedy."""
    assert sentence.count("model.gguf: ") == 1
    assert "; " in sentence
    assert sentence.isprintable()
    assert len(sentence) < 500
    for word in case.words:
        assert word in sentence


def test_there_are_enough_and_each_is_another_file() -> None:
    assert len(CASES) > 250
    assert len({case.bytes() for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_hostile_file_is_a_sentence(case: Case, reports: list[Report]) -> None:
    report = report_of(case, reports)
    kind, sentence = report["error"]
    assert issubclass(getattr(errors, kind, Exception), errors.ModelError), report["error"]
    check_sentence(sentence, case)
    assert report["cpu"] < SECONDS
    assert report["sound"], "another model gives other bits after this file"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_command_shows_a_traceback(case: Case, reports: list[Report]) -> None:
    report = report_of(case, reports)
    assert report["header"][0] in ("", "ModelError"), report["header"]
    status, _, note = report["verify"]
    assert status == 1 or (status == 0 and case.waits), note
    if status == 1:
        chosen, sentence = note.splitlines()
        assert chosen.startswith("bankml: model ")
        check_sentence(sentence, case)
    for name in ("info", "info --json"):
        status, out, note = report[name]
        assert status == (1 if report["header"][0] else 0), note
        told = json.loads(out).get("error", "") if name == "info --json" else note
        assert ("model.gguf: " in told) == (status == 1), told


def test_all_of_them_take_little_memory(reports: list[Report]) -> None:
    assert sum(report.get("memory", 0) for report in reports) < MEMORY


def named(**values: bytes) -> Change:
    """Sets keys; "__" stands for a dot."""
    return lambda model: model.keys.update({key.replace("__", "."): value for key, value in values.items()})


def one_type_row(model: Gguf) -> None:
    """The table as some converters write it: one row, one dimension."""
    types = model.tensor("token_types.weight")
    types.ne, types.data = [HIDDEN], types.data[: 4 * HIDDEN]
    model.keys["tokenizer.ggml.token_type_count"] = number(U32, 1)


ODD: dict[str, Change] = {
    "version 2": lambda model: setattr(model, "version", 2),
    "a file type that is a list": named(general__file_type=numbers(U32, [1])),
    "a name that is no text": named(general__name=string(b"\xff\xfe\n")),
    "numbers of every type": named(bert__block_count=number(U64, 2), bert__context_length=number(I16, POSITIONS)),
    "a pre-tokenizer of other tokenizers": named(tokenizer__ggml__pre=string("jina-v2-en")),
    "an empty array": named(general__tags=array(STRING, 0, b"")),
    "a key of 1,000 bytes": lambda model: model.more_keys.append(("k" * 1000, number(U8, 1))),
    "token types of one dimension": one_type_row,
    "a split of one": named(split__count=number(U16, 1)),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_but_sound_files_load_as_ever(odd: str, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path, sound = tmp_path / "odd.gguf", tmp_path / "sound.gguf"
    sound.write_bytes(valid("wordpiece").bytes())
    model = valid("wordpiece")
    ODD[odd](model)
    path.write_bytes(model.bytes())
    assert Encoder(path).encode([TEXT]).tobytes() == Encoder(sound).encode([TEXT]).tobytes()
    assert not recwarn.list
    assert load_malformed.raised(lambda: load_malformed.described(path)) == ("", "")


def test_a_context_longer_than_the_position_table_is_clamped(tmp_path: Path) -> None:
    path = tmp_path / "short.gguf"
    model = valid("wordpiece")
    model.keys["bert.context_length"] = number(U32, 8192)
    path.write_bytes(model.bytes())
    encoder = Encoder(path)
    full = encoder.encode_full(["why sky blue " * 100])
    assert encoder.context_length == full.tokens[0] == POSITIONS
    assert full.truncated[0]
    with pytest.raises(TooLongError, match="16"):
        encoder.encode(["why sky blue " * 100], truncate=False)


def test_a_vocabulary_shorter_than_the_table_leaves_rows_unused(tmp_path: Path) -> None:
    path = tmp_path / "rows.gguf"
    model = valid("wordpiece")
    model.keys["tokenizer.ggml.tokens"] = strings(WORDPIECE[:-1])
    path.write_bytes(model.bytes())
    encoder = Encoder(path)
    assert encoder.encode([TEXT]).shape == (1, HIDDEN)
    with pytest.raises(InputError, match="token id 7"):
        encoder.encode_ids([[2, 7, 3]])


def test_a_special_token_that_no_text_needs_may_be_out_of_range(tmp_path: Path) -> None:
    path = tmp_path / "special.gguf"
    model = valid("unigram")
    model.keys["tokenizer.ggml.mask_token_id"] = number(U32, 4_000_000_000)
    path.write_bytes(model.bytes())
    with pytest.warns(ModelWarning, match=r"mask_token_id is 4000000000, outside .* of 9: it is ignored"):
        Encoder(path).encode([TEXT])
