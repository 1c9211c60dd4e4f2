"""docs/knowledge-base.md: its commands run, its config.yaml is read, and its tables name what is printed."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bankml.cli.app import run
from bankml.library.model.configuration import CHECKS, Configuration
from bankml.library.model.configure import said
from bankml.library.model.inspection import inspect
from bankml.library.upkeep import doctor
from bankml.library.upkeep.reindexed import Reindexed
from bankml.library.upkeep.status import status
from bankml.models.prefixes import Prefixes, of
from bankml.settings import Settings
from bankml.store import Bound, Store

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "knowledge-base.md").read_text()
# Each command with what stands below it, which it prints.
COMMANDS = re.findall(r"^(?:\$ |    (?=bankml ))(.*)\n((?:(?!\$ |    |```).+\n)*)", PAGE, re.MULTILINE)
LASTING = {"--watch": "unchanged", "serve": "http://"}  # commands that go on, and what they say when they are at it


@pytest.fixture
def home(stocked_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a user who has the page's notes; `bankml` is this one."""
    home, programs = tmp_path / "me", tmp_path / "bin"
    shutil.copytree(ROOT / "examples" / "notes", home / "notes")
    (home / "todo.txt").write_text("Pin the package, try the backup.")
    programs.mkdir()
    (programs / "bankml").symlink_to(Path(sys.executable).parent / "bankml")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return home


def test_every_command_in_its_order(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert len(COMMANDS) > 20
    for command, shown in COMMANDS:
        words = shlex.split(command, comments=True)
        if any(word in LASTING for word in words):
            assert lasting(words) in (0, 130), command
        elif {"|", ">"} & set(words):
            done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, (command, done.stderr)
        else:
            assert words.pop(0) == "bankml"
            status = run([os.path.expanduser(word) for word in words])
            out, err = capfd.readouterr()
            assert status == 0, (command, out, err)
            if shown:
                assert plain(out) == plain(shown.replace("/home/me", str(home))), command
    assert (home / "kb.jsonl.gz").stat().st_size > 100


def plain(text: str) -> list[str]:
    """Its lines without speeds and cosines."""
    return [re.sub(r"\S+ tokens/s|\t0\.\d+\t", "…", line) for line in text.splitlines()]


def lasting(words: list[str]) -> int:
    """The exit status of a command that is ended by Ctrl-C once it is at work, a server on a port of its own."""
    command = [os.path.expanduser(word) for word in words]
    if "serve" in command:
        command = [word for word in command if word not in ("--port", "18094")] + ["--port", "0"]
    awaited = next(said for what, said in LASTING.items() if what in command)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        killer = threading.Timer(60, process.kill)
        killer.start()
        said = ""
        while awaited not in said:
            line = process.stdout.readline()
            assert line, (words, said)
            said += line
        process.send_signal(signal.SIGINT)
        status = process.wait()
        killer.cancel()
        return status


def test_every_option_that_it_names(capfd: pytest.CaptureFixture[str]) -> None:
    named: dict[str, set[str]] = {}
    for name, rest in re.findall(
        r"`bankml (add|search|init|reindex|status|doctor|export|import|serve)\b([^`]*)`", PAGE
    ):
        named.setdefault(name, set()).update(re.findall(r"--[\w-]+", rest))
    for name, options in named.items():
        run([name, "--help"])
        helped = capfd.readouterr().out
        assert {option for option in options if option not in helped} == set(), name


def test_the_lines_of_python(home: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert run(["add", str(home / "notes")]) == 0
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{home}/notes/packages.md 1 0.")


def test_the_example_that_finds_in_a_folder(home: Path) -> None:
    example = ROOT / "examples" / "find_in_a_folder.py"
    assert len(example.read_text().splitlines()) < 30
    for arguments in ([], [str(home / "notes"), "radiators"]):
        done = subprocess.run([sys.executable, example, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        first, best, *_, status = done.stdout.splitlines()
        assert first == "4 files, 5 passages, 0 failed"
        assert "boiler.html:2  Boiler" in best
        assert "5 of 5 embedded" in status


def test_its_config(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "config.yaml").write_text(text)
    found = Configuration.read(tmp_path / "kb.db")
    assert found.model == "multilingual-e5-small"
    assert found.prefixes.over(Prefixes()) == of(found.model)
    assert (found.chunk_tokens, found.chunk_overlap) == (256, 32)
    assert said(tmp_path / "kb.db").keys() == CHECKS.keys()


def fields(heading: str) -> set[str]:
    """What stands in the first column of the table below a heading."""
    table = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


def test_the_fields_of_the_status(tmp_path: Path) -> None:
    assert fields("`bankml init --status --json`") == inspect(tmp_path / "kb.db", Settings.read()).keys()


def test_the_fields_of_status_and_the_checks_of_doctor(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        assert fields("How it is: `bankml status`") == status(store, Settings.read()).object().keys()
    checks = {found.check for found in doctor.examine(tmp_path / "kb.db", Settings.read())}
    assert fields("What is wrong: `bankml doctor`") == checks


def test_the_fields_of_reindex() -> None:
    (named,) = re.findall(r"`--json` prints (`model`.*)", PAGE.partition("`bankml reindex`\n")[2])
    printed = Reindexed(Bound("", 1, "", ""), None).object()
    assert set(re.findall(r"`(\w+)`", named)) == printed.keys()
