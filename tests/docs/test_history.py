"""docs/history.md: what a newcomer types does what stands there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "history.md").read_text()


@pytest.fixture
def environment(models_home: Path, minilm: Path, tmp_path: Path) -> dict[str, str]:
    """Of a user who has the default model and no Ollama; `bankml` is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bankml").symlink_to(Path(sys.executable).parent / "bankml")
    return {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "BANKML_HOME": str(models_home),
        "OLLAMA_MODELS": str(tmp_path / "none"),
    }


def test_the_commands_of_the_first_section(environment, tmp_path):
    section = PAGE.split("## From nothing")[1].split("## The page")[0]
    mine = str(tmp_path / "my.history")
    commands = re.findall(r"^\$ (.*)$", section, re.MULTILINE)
    assert len(commands) == 6
    shown = []
    for command in commands:
        line = command.replace("/tmp/my.history", mine)
        done = subprocess.run(line, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (line, done.stderr)
        shown.append(done.stdout)
    assert "24 embedded with all-minilm-l6-v2, 0 were; 24 exchanges\n" in shown
    status = re.search(r"^2 of 24 exchanges .*$", section, re.MULTILINE)
    assert status
    assert status[0] in shown[4]
    haiku = shown[5].split("\t")
    assert "haiku" in haiku[5]
    assert haiku[3:5] == ["", "1"]
    assert not (ROOT / "examples" / "sample.history.emb").exists()


def test_the_lines_of_python(environment, tmp_path):
    mine = shutil.copy(ROOT / "examples" / "sample.history", tmp_path / "my.history")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    code = code.replace("/tmp/my.history", str(mine))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "24 exchanges" in done.stdout.splitlines()[-1]


def test_the_example_that_remembers_and_finds(environment, tmp_path):
    path = tmp_path / "notes.history"
    example = ROOT / "examples" / "remember_and_find.py"
    done = subprocess.run([sys.executable, example, path], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    answer, status = done.stdout.splitlines()
    assert "half a tin" in answer
    assert "(meaning, 3 of 3 embedded)" in status
