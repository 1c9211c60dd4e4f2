"""`bankml models`, `info`, `pull`, `verify`."""

import hashlib
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bankml.settings import Settings
from tests.raw_gguf import valid


def test_info(here, minilm):
    info = here("info", str(minilm), "--json").out.lines[0]
    assert info["metadata"]["bert.embedding_length"] == 384
    assert (info["family"], info["quantization_level"], info["size"]) == ("bert", "F16", minilm.stat().st_size)
    plain = here("info", str(minilm))
    assert plain.status == 0
    assert b"bert.embedding_length" in plain.out
    assert b"(a long array)" in plain.out


def test_models(here, stocked_home):
    rows = {row["name"]: row for row in here("models", "--json").out.lines[0]["models"]}
    assert rows["all-minilm-l6-v2"]["present"] is True
    assert rows["all-minilm-l6-v2"]["dims"] == 384
    assert here("models").out.startswith(b"all-minilm-l6-v2\tbuiltin\tyes\t46 MB\t384\t512\tmean\tApache-2.0\n")


def test_info_of_a_built_in_that_is_not_here(here):
    done = here("info", "all-minilm")
    assert (done.status, done.out) == (1, b"")
    assert b"not on this machine: run `bankml pull all-minilm-l6-v2`, or name another" in done.err
    assert b"run `bankml pull bge-m3` (1,158 MB) or `ollama pull bge-m3`" in here("info", "bge-m3").err


def test_a_file_is_used_by_the_name_it_is_listed_by(here, tmp_path):
    models = Settings.read().models
    models.mkdir(parents=True)
    (models / "my model.gguf").write_bytes(valid("wordpiece").bytes())
    names = [row["name"] for row in here("models", "--json").out.lines[0]["models"]]
    assert "my model" in names
    assert here("info", "my model", "--json").out.lines[0]["kind"] == "file"
    assert here("embed", "--model", "my model", "why").status == 0


def test_pull_of_what_is_here(here, stocked_home):
    pulled = here("pull", "all-minilm", "--json").out.lines[0]
    assert (pulled["name"], Path(pulled["path"]).parent) == ("all-minilm-l6-v2", stocked_home / "models")
    assert pulled["fetched"] is False
    plain = here("pull", "all-minilm")
    assert plain.out.decode().strip() == pulled["path"]
    assert plain.err.decode() == f"bankml: all-minilm-l6-v2 is here already: {pulled['path']}\n"


def test_verify(here, stocked_home):
    report = here("verify", "all-minilm", "--json").out.lines[0]
    assert report["finite"] is True
    assert report["digest"] == report["digest_expected"]
    assert report["cosine_to_published"] >= 0.99999


def test_verify_of_another_file_under_the_name(here, stocked_home, minilm):
    place = stocked_home / "models" / minilm.name
    content = bytearray(minilm.read_bytes())
    content[-1] ^= 1  # the last bit of a weight: finite, and hardly another vector
    place.unlink()
    place.write_bytes(content)
    done = here("verify", "all-minilm", "--json")
    assert done.status == 1
    assert "sha256" in done.out.lines[0]["error"]


def test_verify_of_a_damaged_file(here, tmp_path, minilm):
    damaged = tmp_path / "damaged.gguf"
    content = bytearray(minilm.read_bytes())
    content[-64:] = b"\xff" * 64  # NaN in F16 and in F32
    damaged.write_bytes(content)
    done = here("verify", str(damaged), "--json")
    assert done.status == 1
    assert "not finite" in done.out.lines[0]["error"]


def test_a_path_that_is_not_utf8(command, minilm, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")  # as in every locale but C's
    odd = tmp_path / os.fsdecode(b"odd\xff.gguf")
    missing = command("info", os.fsencode(odd))
    assert (missing.status, missing.out, missing.err.count(b"\n")) == (1, b"", 1)
    odd.symlink_to(minilm)
    for name in ("info", "pull", "verify"):
        for arguments in ([name], [name, "--json"]):
            done = command(*arguments, os.fsencode(odd))
            assert (done.status, b"Traceback" in done.err) == (0, False), (arguments, done.err)
    assert command("pull", os.fsencode(odd)).out == os.fsencode(odd) + b"\n"


NAME = "hf:o/r/m-F16.gguf"


@pytest.fixture
def stocked(hub, seeded_gguf: bytes):
    """A hub with one repository of one model."""
    hub.add("o/r", {"m-F16.gguf": seeded_gguf})
    return hub


@pytest.fixture
def started():
    """Starts `bankml pull` in a process of its own."""
    processes = []

    def start(*arguments: str, **more) -> subprocess.Popen:
        command = [sys.executable, "-m", "bankml", "pull", *arguments]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_hubs_model_from_pull_to_vector(here, stocked, seeded_gguf: bytes, monkeypatch) -> None:
    done = here("pull", "hf:o/r", "--json")
    facts = done.out.lines[0]
    assert (facts["name"], facts["size"], facts["fetched"]) == (NAME, len(seeded_gguf), True)
    assert done.err == f"bankml: model {NAME}: a model pulled from a hub, as asked\n".encode()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there: nothing below asks a hub
    assert here("pull", NAME).out.decode() == facts["path"] + "\n"
    assert len(here("embed", "--model", NAME, "a text").out.lines[0]["embedding"]) == 256
    info = here("info", "hf:o/r", "--json").out.lines[0]
    assert (info["kind"], info["source"], info["licence"], info["path"]) == ("hub", NAME, "MIT", facts["path"])
    report = here("verify", NAME, "--json").out.lines[0]
    digest = hashlib.sha256(seeded_gguf).hexdigest()
    assert digest == info["sha256"] == report["digest"] == report["digest_expected"]
    row = next(row for row in here("models", "--json").out.lines[0]["models"] if row["name"] == NAME)
    assert (row["kind"], row["present"], row["size"], row["dims"]) == ("hub", True, len(seeded_gguf), 256)
    assert (row["pooling"], row["licence"]) == ("mean", "MIT")


def half_way(stocked, process: subprocess.Popen, folder: Path) -> Path:
    """The partial file, once most of what the hub sends before its pause has been written."""
    assert stocked.paused.wait(60)
    for _ in range(6000):
        parts = list(folder.rglob("*.partial"))
        if parts and parts[0].stat().st_size > 500_000:
            return parts[0]
        time.sleep(0.01)
    raise AssertionError(f"no part after a minute; the pull: {process.poll()}")


def test_ctrl_c_keeps_what_came(started, stocked, seeded_gguf: bytes, tmp_path: Path) -> None:
    stocked.pause_after = 1_000_000
    process = started(NAME)
    half_way(stocked, process, tmp_path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    kept = re.search(rb"interrupted; (?:1 MB|[\d,]+ bytes) are kept as (.*\.partial), and the next pull goes on", err)
    assert kept, err
    assert b"Traceback" not in err
    goes_on(kept[1], started, stocked, seeded_gguf)


def test_a_killed_pull_is_taken_up_where_it_was(started, stocked, seeded_gguf: bytes, tmp_path: Path) -> None:
    stocked.pause_after = 1_000_000
    process = started(NAME)
    part = half_way(stocked, process, tmp_path)
    process.kill()
    process.communicate()
    goes_on(os.fsencode(part), started, stocked, seeded_gguf)


def goes_on(part: bytes, started, stocked, seeded_gguf: bytes) -> None:
    """The part is what it should be and the next pull asks for the rest alone."""
    kept = os.path.getsize(part)
    assert 500_000 < kept < len(seeded_gguf)
    stocked.go.set()
    stocked.requests.clear()
    out, err = started(NAME).communicate(timeout=60)
    assert Path(os.fsdecode(out.strip())).read_bytes() == seeded_gguf, err
    assert [(asked.range, asked.status, asked.sent) for asked in stocked.downloads] == [
        (f"bytes={kept}-", 206, len(seeded_gguf) - kept)
    ]
    assert not os.path.exists(part)


def test_a_limit_on_files_is_said(started, stocked) -> None:
    limit = 1 << 20
    process = started(NAME, "--json", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"")
    assert "cannot be used (File too large)" in json.loads(out)["error"]
    assert "1 MB are kept as" in json.loads(out)["error"]


def test_a_person_sees_a_bar_and_a_program_nothing(started, stocked, command) -> None:
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal to be had here: {error}")
    whole = [sys.executable, "-m", "bankml", "pull", NAME]
    done = subprocess.run(whole, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}, timeout=60)
    os.close(theirs)
    assert done.returncode == 0
    assert b"downloading m-F16.gguf" in os.read(ours, 65536)
    os.close(ours)
    quiet = command("pull", f"{NAME}@main", "--json")
    assert (quiet.status, quiet.err.count(b"\n")) == (0, 1)


def test_a_model_of_ollama_that_is_missing_is_ollamas_to_pull(here, hub) -> None:
    done = here("pull", "granite-embedding")
    assert done.status == 1
    assert b"or run `ollama pull granite-embedding`" in done.err
    assert hub.requests == []


BGE = "bge-small-en-v1.5"
NOTICE = "bankml: Optimising model {} for bankml's engine (one-time)…\n"


def test_a_model_that_is_named_is_made_once_and_then_there(command, here, model_hub, monkeypatch) -> None:
    assert BGE in here("models", "--json").out.lines[0]["pullable"]
    assert f"`bankml pull` also knows {BGE}, ".encode() in here("models").err
    first = command("embed", "--model", BGE, "a text")
    assert NOTICE.format(BGE).encode() in first.err
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there: nothing below asks a hub
    again = command("embed", "--model", f"BAAI/{BGE}", "a text")
    assert (again.status, again.out) == (0, first.out)
    assert again.err.decode() == f"bankml: model {BGE}: a model pulled from a hub, as asked\n"
    pulled = here("pull", BGE, "--json").out.lines[0]
    assert (pulled["name"], pulled["fetched"]) == (BGE, False)
    info = here("info", BGE, "--json").out.lines[0]
    assert (info["source"], info["licence"], info["kind"]) == (f"hf:BAAI/{BGE}", "MIT", "hub")
    assert len(info["sha256 of model.safetensors"]) == 64
    assert here("verify", BGE, "--json").out.lines[0]["digest"] == info["sha256"]
    listed = here("models", "--json").out.lines[0]
    row = next(row for row in listed["models"] if row["name"] == BGE)
    assert (row["present"], row["dims"], row["pooling"]) == (True, 384, "cls")
    assert BGE not in listed["pullable"]


def test_a_model_of_another_graph_is_one_sentence(command, model_hub) -> None:
    done = command("pull", "nomic-embed-text", "--json")
    assert (done.status, done.err) == (1, b"")
    assert "is of the architecture nomic_bert (NomicBertModel" in done.out.lines[0]["error"]
