"""`bankml models`, `info`, `pull`, `verify`."""

import os
from pathlib import Path


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
    assert b"bankml pull all-minilm-l6-v2" in done.err


def test_pull_of_what_is_here(here, stocked_home):
    pulled = here("pull", "all-minilm", "--json").out.lines[0]
    assert (pulled["name"], Path(pulled["path"]).parent) == ("all-minilm-l6-v2", stocked_home / "models")
    assert here("pull", "all-minilm").out.decode().strip() == pulled["path"]


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
