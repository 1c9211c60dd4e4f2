"""Bytes on their way: resumed, checked, refused."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bankml.errors import ModelError
from bankml.models import choose, digest, disk, fetch, pinned, pull, transfer
from bankml.models.hub_name import HubName
from bankml.settings import Settings
from tests.hub import COMMIT

NAME = "hf:o/r/m-F16.gguf"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "WAITS", (0.01, 0.01, 0.01))


@pytest.fixture
def stocked(hub, seeded_gguf: bytes):
    """A hub with one repository of one model."""
    hub.add("o/r", {"m-F16.gguf": seeded_gguf, "README.md": b"#"})
    return hub


def folder() -> Path:
    return Settings.read().models / "hf" / "o" / "r"


def leftovers() -> list[str]:
    return sorted(path.name for path in folder().iterdir() if not path.name.endswith(".lock"))


def test_a_pull_leaves_the_model_and_its_record(stocked, seeded_gguf: bytes) -> None:
    heard = []
    path = pull("hf:o/r", lambda *event: heard.append(event))
    assert (path, path.read_bytes()) == (folder() / "m-F16.gguf", seeded_gguf)
    assert leftovers() == ["m-F16.gguf", "m-F16.gguf.json"]
    assert json.loads((folder() / "m-F16.gguf.json").read_text()) == {
        "name": NAME,
        "commit": COMMIT,
        "sha256": hashlib.sha256(seeded_gguf).hexdigest(),
        "size": len(seeded_gguf),
        "licence": "mit",
        "chosen": True,
    }
    total = len(seeded_gguf)
    assert next(event for event in heard if event[1] == total) == ("downloading m-F16.gguf", total, total)
    assert all(0 < done <= total == all_of_it for _, done, all_of_it in heard)


def test_its_digest_is_known_without_reading_it_again(stocked, seeded_gguf: bytes) -> None:
    path = pull(NAME)
    heard = []
    assert digest.sha256(path, lambda *event: heard.append(event)) == hashlib.sha256(seeded_gguf).hexdigest()
    assert heard == []


def test_a_model_that_is_here_is_not_asked_for(stocked) -> None:
    path = pull(NAME)
    stocked.requests.clear()
    assert pull(NAME) == path
    assert stocked.requests == []


def test_a_connection_that_breaks_is_taken_up_where_it_broke(stocked, seeded_gguf: bytes) -> None:
    stocked.cuts = [600_000, 0, 0, 700_000]
    assert pull(NAME).read_bytes() == seeded_gguf
    ranges = [request.range for request in stocked.downloads]
    assert ranges[0] is None
    assert len(ranges) == 5
    at = [int(asked.removeprefix("bytes=").rstrip("-")) for asked in ranges[1:]]
    assert 0 < at[0] <= 600_000
    assert at[0] == at[1] == at[2] < at[3] <= at[0] + 700_000


def test_a_hub_that_gives_up_half_way_leaves_a_part_that_the_next_pull_goes_on_from(
    stocked, seeded_gguf: bytes
) -> None:
    stocked.cuts = [600_000, 0, 0, 0]
    with pytest.raises(ModelError) as error:
        pull(NAME)
    part = folder() / f"m-F16.gguf.{hashlib.sha256(seeded_gguf).hexdigest()[:12]}.partial"
    assert leftovers() == [part.name]
    assert f"are kept as {part}, and the next pull goes on from there" in str(error.value)
    assert str(error.value).startswith(f"the connection to {stocked.url} broke (")
    kept = part.stat().st_size
    stocked.requests.clear()
    assert pull(NAME).read_bytes() == seeded_gguf
    assert [request.range for request in stocked.downloads] == [f"bytes={kept}-"]
    assert stocked.downloads[0].sent == len(seeded_gguf) - kept
    assert leftovers() == ["m-F16.gguf", "m-F16.gguf.json"]


def part_of(content: bytes, kept: bytes) -> Path:
    folder().mkdir(parents=True)
    path = folder() / f"m-F16.gguf.{hashlib.sha256(content).hexdigest()[:12]}.partial"
    path.write_bytes(kept)
    return path


def test_a_server_that_knows_no_ranges_sends_it_all_again(stocked, seeded_gguf: bytes) -> None:
    part_of(seeded_gguf, seeded_gguf[:1000])
    stocked.ranges = False
    assert pull(NAME).read_bytes() == seeded_gguf


def test_a_part_that_is_whole_is_not_asked_for_again(stocked, seeded_gguf: bytes) -> None:
    part_of(seeded_gguf, seeded_gguf)
    assert pull(NAME).read_bytes() == seeded_gguf
    assert stocked.downloads == []


def test_a_part_of_what_the_file_was_before_is_swept_away(stocked, seeded_gguf: bytes) -> None:
    part_of(b"another state", b"another")
    (folder() / "other.gguf.0123456789ab.partial").write_bytes(b"of another file")
    assert pull(NAME).read_bytes() == seeded_gguf
    assert leftovers() == ["m-F16.gguf", "m-F16.gguf.json", "other.gguf.0123456789ab.partial"]


@pytest.mark.parametrize("kept", [0, 1000])
def test_other_bytes_than_the_hub_states_are_an_error_with_both_digests(stocked, seeded_gguf: bytes, kept: int) -> None:
    stocked.instead = seeded_gguf[:-1] + bytes([seeded_gguf[-1] ^ 1])
    if kept:
        part_of(seeded_gguf, seeded_gguf[:kept])
    with pytest.raises(ModelError) as error:
        pull(NAME)
    stated, found = (hashlib.sha256(content).hexdigest() for content in (seeded_gguf, stocked.instead))
    assert f"came with the sha256 {found}, not {stated}, and was deleted" in str(error.value)
    assert leftovers() == []
    stocked.instead = None
    assert pull(NAME).read_bytes() == seeded_gguf


def test_a_rotten_part_is_found_out(stocked, seeded_gguf: bytes) -> None:
    part_of(seeded_gguf, bytes(1000))
    with pytest.raises(ModelError, match="came with the sha256"):
        pull(NAME)
    assert pull(NAME).read_bytes() == seeded_gguf


def test_more_or_fewer_bytes_than_stated(stocked, seeded_gguf: bytes) -> None:
    stocked.instead = seeded_gguf + b"more"
    assert pull(NAME).read_bytes() == seeded_gguf
    stocked.instead = seeded_gguf[:-4]
    with pytest.raises(ModelError, match=r"answers 416|and no more"):
        pull(f"{NAME}@main")


@pytest.mark.parametrize("then", ["more", "silence"])
@pytest.mark.parametrize("kept", [0, 1000])
def test_a_body_without_end_is_left_when_the_file_is_whole(stocked, seeded_gguf: bytes, then: str, kept: int) -> None:
    if kept:
        part_of(seeded_gguf, seeded_gguf[:kept])
    stocked.then = then
    started = time.monotonic()
    assert pull(NAME).read_bytes() == seeded_gguf
    assert len(stocked.downloads) == 1
    while not stocked.downloads[0].left and time.monotonic() < started + 10:
        time.sleep(0.01)
    assert stocked.downloads[0].left


def in_git(hub, content: bytes) -> str:
    """A hub with one file that git itself holds; git's sha1 of it."""
    hub.add("o/r", {"m-F16.gguf": content}, in_git=("m-F16.gguf",), licence="")
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def test_a_file_that_git_itself_holds_is_checked_by_gits_sha1(hub, seeded_gguf: bytes) -> None:
    stated = in_git(hub, seeded_gguf)
    hub.instead = seeded_gguf[:-1] + bytes([seeded_gguf[-1] ^ 1])
    found = hashlib.sha1(b"blob %d\0" % len(hub.instead) + hub.instead).hexdigest()
    with pytest.raises(ModelError, match=f"came with the git sha1 {found}, not {stated}, and was deleted"):
        pull(NAME)
    assert leftovers() == []
    hub.instead = None
    assert pull(NAME).read_bytes() == seeded_gguf
    assert choose(NAME).hub.sha256 == hashlib.sha256(seeded_gguf).hexdigest()


def test_git_itself_gives_a_file_that_sha1(tmp_path: Path, seeded_gguf: bytes) -> None:
    (tmp_path / "file").write_bytes(seeded_gguf)
    try:
        said = subprocess.run(["git", "hash-object", tmp_path / "file"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    assert digest.git_sha1(tmp_path / "file") == said.stdout.strip()


def test_a_file_of_git_whose_record_is_lost_is_taken_as_it_is(hub, seeded_gguf: bytes) -> None:
    in_git(hub, seeded_gguf)
    record = pull(NAME).with_name("m-F16.gguf.json")
    before = record.read_text()
    record.unlink()
    assert pull(NAME).read_bytes() == seeded_gguf
    assert record.read_text() == before
    assert len(hub.downloads) == 1


def test_a_repositorys_name_means_what_the_hub_says_whatever_is_here(hub, seeded_gguf: bytes) -> None:
    hub.add("o/r", {"m-q4.gguf": b"GGUF4", "m-F16.gguf": seeded_gguf})
    q4 = pull("hf:o/r/m-q4.gguf")
    assert not choose("hf:o/r").present
    assert pull("hf:o/r") == choose("hf:o/r").path == folder() / "m-F16.gguf" != q4
    hub.add("o/r", {"m-q4.gguf": b"GGUF4", "new-F16.gguf": seeded_gguf})
    hub.requests.clear()
    assert pull("hf:o/r") == choose("hf:o/r").path == folder() / "m-F16.gguf"  # until it is deleted
    assert hub.requests == []
    (folder() / "m-F16.gguf").unlink()
    assert pull("hf:o/r") == choose("hf:o/r").path == folder() / "new-F16.gguf"


def test_a_repositorys_file_that_is_here_is_not_fetched_again_but_known_by_that_name(stocked) -> None:
    path = pull(NAME)
    stocked.repositories["o/r"].files["m-F16.gguf"] = b"another state"  # what was pulled stays as it is
    assert fetch("hf:o/r")[1] is False
    assert choose("hf:o/r").path == path
    assert len(stocked.downloads) == 1


def test_a_part_that_is_gone_hides_no_error(stocked) -> None:
    stocked.cuts = [600_000, 0, 0, 0]

    def delete(what: str, done: int, total: int) -> None:
        for part in folder().glob("*.partial"):
            part.unlink()

    with pytest.raises(ModelError, match=r"^the connection to \S+ broke \([^;]*$"):
        pull(NAME, delete)


def test_a_file_whose_record_is_lost_is_taken_as_it_is_if_it_is_the_one(stocked, seeded_gguf: bytes) -> None:
    pull(NAME)
    record = folder() / "m-F16.gguf.json"
    record.unlink()
    assert pull(NAME).read_bytes() == seeded_gguf
    assert record.is_file()
    assert len(stocked.downloads) == 1
    record.unlink()
    (folder() / "m-F16.gguf").write_bytes(b"another")
    assert pull(NAME).read_bytes() == seeded_gguf
    assert len(stocked.downloads) == 2


def test_too_little_room_is_said_before_anything_is_fetched(hub) -> None:
    page = {"sha": COMMIT, "siblings": [{"rfilename": "m.gguf", "lfs": {"sha256": "a" * 64, "size": 10**16}}]}
    hub.page = json.dumps(page).encode()
    with pytest.raises(
        ModelError, match=r"MB free and pulling hf:o/r/m\.gguf needs 10,000,000,000 MB: free some space"
    ):
        pull("hf:o/r/m.gguf")
    assert len(hub.requests) == 1
    assert leftovers() == []


def test_a_home_that_cannot_be_written_is_named(stocked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BANKML_HOME", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"cannot be used .*set BANKML_HOME to a folder with room that you can write"):
        pull(NAME)


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """BANKML_HOME on a disk of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("a small disk is mounted as root only")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("this machine mounts nothing")
    monkeypatch.setenv("BANKML_HOME", str(place))
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_disk_that_fills_up_is_said_and_what_came_is_kept(
    stocked, small_disk: Path, monkeypatch: pytest.MonkeyPatch, seeded_gguf: bytes
) -> None:
    monkeypatch.setattr(disk, "check_space", lambda *_: None)  # the check that another test covers
    with pytest.raises(ModelError) as error:
        pull(NAME)
    assert str(error.value).startswith(f"the disk of {folder()} is full: free some space or set BANKML_HOME")
    part = next(folder().glob("*.partial"))
    assert f"are kept as {part}" in str(error.value)
    assert part.read_bytes() == seeded_gguf[: part.stat().st_size] != b""


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, seeded_gguf: bytes) -> pinned.Pinned:
    """bge-m3 as if the seeded model were it."""
    model = replace(pinned.BGE_M3, gguf_sha256=hashlib.sha256(seeded_gguf).hexdigest(), size=len(seeded_gguf), dims=256)
    monkeypatch.setattr(pinned, "BGE_M3", model)
    return model


@pytest.mark.parametrize("name", ["bge-m3", "bge-m3:latest", "bge-m3:567m", "BAAI/bge-m3"])
def test_bge_m3_comes_from_its_pinned_place(hub, known: pinned.Pinned, seeded_gguf: bytes, name: str) -> None:
    hub.add("gpustack/bge-m3-GGUF", {"bge-m3-FP16.gguf": seeded_gguf, "bge-m3-Q8_0.gguf": b"8"}, licence="other")
    path = pull(name)
    assert path.parts[-4:] == ("hf", "gpustack", "bge-m3-GGUF", "bge-m3-FP16.gguf")
    choice = choose("bge-m3")
    assert (choice.name, choice.kind, choice.path, choice.licence.id) == ("bge-m3", "hub", path, "MIT")
    assert choose(known.source).path == path


def test_another_file_in_the_pinned_place_is_refused_unseen(hub, seeded_gguf: bytes) -> None:
    hub.add("gpustack/bge-m3-GGUF", {"bge-m3-FP16.gguf": seeded_gguf})
    with pytest.raises(ModelError) as error:
        pull("bge-m3")
    stated = f"the sha256 {hashlib.sha256(seeded_gguf).hexdigest()}"
    source = pinned.BGE_M3.source
    assert str(error.value).startswith(f"{hub.url} states {stated} for {source}, and bge-m3 is the file daec91ff")
    assert hub.downloads == []
    pull(pinned.BGE_M3.source)  # by its own name it is what it is
    assert not choose("bge-m3").present


def test_a_file_without_a_sha256_in_the_pinned_place(hub, known: pinned.Pinned, seeded_gguf: bytes) -> None:
    hub.add("gpustack/bge-m3-GGUF", {"bge-m3-FP16.gguf": seeded_gguf}, in_git=("bge-m3-FP16.gguf",))
    with pytest.raises(ModelError, match=f"states no sha256 for {known.source}, and bge-m3 is the file {'.' * 64}: "):
        pull("bge-m3")


def test_other_bytes_in_the_pinned_place(hub, known: pinned.Pinned, seeded_gguf: bytes) -> None:
    hub.add("gpustack/bge-m3-GGUF", {"bge-m3-FP16.gguf": seeded_gguf})
    hub.instead = bytes(len(seeded_gguf))
    with pytest.raises(ModelError, match=f"not {known.gguf_sha256}, and was deleted"):
        pull("bge-m3")
    assert not choose("bge-m3").present


def test_bge_m3_of_ollamas_store_is_used_as_it_is(hub, store, tiny_gguf: Path) -> None:
    blob = store.add("registry.ollama.ai/library/bge-m3/latest", tiny_gguf)
    for name in ("bge-m3", "BAAI/bge-m3", "bge-m3:567m"):
        assert pull(name) == blob
    assert hub.requests == []


def test_three_processes_fetch_it_once(stocked, seeded_gguf: bytes) -> None:
    stocked.pause_after = 1_000_000
    command = [sys.executable, "-m", "bankml", "pull", NAME]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(3)]
    assert stocked.paused.wait(60)
    stocked.go.set()
    assert {process.communicate(timeout=60)[0].strip() for process in running} == {bytes(folder() / "m-F16.gguf")}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(stocked.downloads) == 1
    assert leftovers() == ["m-F16.gguf", "m-F16.gguf.json"]


def test_names_are_places() -> None:
    assert HubName.parse(pinned.BGE_M3.source).invalid_part() is None
