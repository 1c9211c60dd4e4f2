"""`bankml convert`."""

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oracle import folders


@pytest.fixture
def folder(minilm_folder: Path, tmp_path: Path) -> Path:
    """all-MiniLM-L6-v2's folder, to be changed."""
    copy = tmp_path / "all-MiniLM-L6-v2"
    shutil.copytree(minilm_folder, copy, copy_function=os.symlink)
    return copy


def unsaid(folder: Path) -> Path:
    """Without a word on pooling."""
    (folder / "modules.json").unlink()
    shutil.rmtree(folder / "1_Pooling")
    return folder


def test_the_file_works_by_its_path(here, folder, tmp_path, encoder):
    target = tmp_path / "out.gguf"
    done = here("convert", str(folder), "-o", str(target), "--json")
    made = done.out.lines[0]
    assert (done.status, made["path"], made["name"]) == (0, str(target), "all-MiniLM-L6-v2")
    assert (made["architecture"], made["layers"], made["dims"], made["context_length"]) == ("bert", 6, 384, 512)
    assert (made["pooling"], made["type"], made["licence"]) == ("mean", "F16", "apache-2.0")
    assert (made["size"], len(made["sha256"])) == (target.stat().st_size, 64)
    assert "cuts texts at 256 tokens" in made["notes"][0]
    text = "why is the sky blue?"
    assert here("embed", "--model", str(target), text).out.vectors == encoder.encode([text]).tobytes()
    assert here("info", str(target), "--json").out.lines[0]["licence"] == "Apache-2.0"


def test_in_words_and_in_another_type(here, folder, tmp_path):
    done = here("convert", str(folder), "--output", str(tmp_path / "out.gguf"), "--type", "q8_0", "--name", "mine")
    lines = dict(line.split(maxsplit=1) for line in done.out.decode().splitlines())
    assert (lines["name"], lines["pooling"], lines["type"]) == ("mine", "mean", "Q8_0")
    assert b"cuts texts at 256 tokens" in done.err


def test_an_existing_file_needs_force(here, folder, tmp_path):
    target = tmp_path / "out.gguf"
    target.write_text("mine")
    done = here("convert", str(folder), "-o", str(target), "--json")
    assert (done.status, target.read_text()) == (1, "mine")
    assert "--force" in done.out.lines[0]["error"]
    assert here("convert", str(folder), "-o", str(target), "--force").status == 0
    assert target.read_bytes()[:4] == b"GGUF"


def test_wrong_calls(here, folder, tmp_path):
    assert here("convert", str(folder)).status == 2
    assert here("convert", str(folder), "-o", "m.gguf", "--type", "q4_0").status == 2
    assert here("convert", str(folder), "-o", "m.gguf", "--pooling", "max").status == 2
    done = here("convert", str(tmp_path / "none"), "-o", "m.gguf")
    assert (done.status, done.err.count(b"\n"), b"there is no folder" in done.err) == (1, 1, True)


def test_pooling_that_is_not_recorded_is_an_error_without_a_terminal(here, folder, tmp_path):
    target = tmp_path / "out.gguf"
    done = here("convert", str(unsaid(folder)), "-o", str(target))
    assert (done.status, target.exists(), done.err.count(b"\n")) == (1, False, 1)
    assert b"give --pooling mean, cls or last" in done.err
    made = here("convert", str(folder), "-o", str(target), "--pooling", "cls", "--json").out.lines[0]
    assert made["pooling"] == "cls"


@pytest.mark.parametrize(("keys", "status", "pooling"), [(b"max\ncls\n", 0, b"cls"), (b"\x03", 130, b"")])
def test_pooling_that_is_not_recorded_is_asked_of_a_person(folder, tmp_path, keys, status, pooling):
    target = tmp_path / "out.gguf"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bankml", "convert", str(unsaid(folder)), "-o", str(target)]
    options = {"stdin": theirs, "stderr": theirs, "stdout": subprocess.PIPE, "start_new_session": True}
    with subprocess.Popen(command, preexec_fn=own_terminal, **options) as process:
        os.close(theirs)
        shown = b""
        while b"pooling (mean, cls, last)" not in shown:
            shown += os.read(ours, 1000)
        os.write(ours, keys)
        while not (shows := select.select([ours], [], [], 2)[0]) or read(ours):  # a bar is drawn too
            if keys == b"\x03" and not shows:
                os.write(ours, keys)  # Python misses one that comes just before it reads
        out = process.stdout.read()
    os.close(ours)
    assert process.returncode == status
    assert target.exists() == (status == 0)
    assert pooling in out


@pytest.mark.timeout(60)
def test_a_conversion_that_is_terminated_leaves_nothing(folder, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "bankml", "convert", str(folder), "-o", str(out / "m.gguf"), "--type", "q8_0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not (out.is_dir() and list(out.iterdir())):
            time.sleep(0.001)
        process.terminate()
        printed = process.communicate()
    assert (process.returncode, printed, list(out.iterdir())) == (143, (b"", b""), [])


def own_terminal() -> None:
    """Ctrl-C typed there reaches this process."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1000)
    except OSError:  # the other side is closed
        return b""


def test_a_folder_given_as_a_model_is_told_of_convert(here, folder):
    done = here("embed", "--model", f"{folder}/", "text")
    assert done.status == 1
    assert b"bankml convert" in done.err


def test_a_tiny_folder_with_odd_names(command, tmp_path):
    """A path that is not UTF-8 is no reason to fail."""
    odd = tmp_path / os.fsdecode(b"odd\xff")
    odd.mkdir()
    folders.write_json(odd / "config.json", {"model_type": "nomic_bert"})
    done = command("convert", os.fsencode(odd), "-o", os.fsencode(odd) + b".gguf")
    assert (done.status, done.err.count(b"\n"), b"nomic_bert" in done.err) == (1, 1, True)
