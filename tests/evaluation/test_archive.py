"""Fetching a package: by apt, by HTTP from a server here, and when neither has it."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bankml.errors import InputError
from bankml.evaluation import archive, faq, packages
from tests import debian

CONTENT = debian.deb({f"{faq.PAGES}a.de.html": debian.page(debian.GERMAN)})
NAME = faq.file_name("de")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    folder = tmp_path / "served" / archive.POOL
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def mirror(pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an archive whose pool is `pool`."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served"))) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(faq.DIGESTS, "de", packages.digest(CONTENT))


def apt(tmp_path: Path, script: str) -> str:
    """A program that stands where apt-get does."""
    program = tmp_path / "apt-get"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_by_http(mirror: str, pool: Path) -> None:
    (pool / NAME).write_bytes(CONTENT)
    assert archive.fetch("de", (mirror,), apt=None) == CONTENT


def test_the_next_archive(mirror: str, pool: Path) -> None:
    """One that does not answer, one that has nothing, one that has another file: each is passed over."""
    (pool / NAME).write_bytes(CONTENT)
    other = pool.parents[3] / "other" / archive.POOL
    other.mkdir(parents=True)
    (other / NAME).write_bytes(CONTENT[:-1])
    archives = ("http://127.0.0.1:9/", f"{mirror}nothing/", f"{mirror}other/", mirror)
    assert archive.fetch("de", archives, apt=None) == CONTENT


def test_by_apt(tmp_path: Path) -> None:
    (tmp_path / "package").write_bytes(CONTENT)
    wanted = f"[ \"$*\" = '-qq download debian-faq-de=11.1' ] && cp {tmp_path}/package {NAME}"
    assert archive.fetch("de", (), apt(tmp_path, wanted)) == CONTENT


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 100", "download debian-faq-de=11.1` failed"),
        (f"echo > {NAME}", "what came has the sha256"),
        ("", "failed"),
    ],
)
def test_apt_that_has_it_not(tmp_path: Path, script: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        archive.fetch("de", (), apt(tmp_path, script))


def test_offline() -> None:
    """One sentence: what was tried, and where else the file may come from."""
    with pytest.raises(InputError) as raised:
        archive.fetch("de", ("http://127.0.0.1:9/",), "no-such-apt")
    sentence = str(raised.value)
    assert sentence.startswith(f"{NAME} cannot be had (no-such-apt is not here; http://127.0.0.1:9/")
    assert sentence.endswith("on another machine and name its folder with --data")


def test_more_than_any_package_has(mirror: str, pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_PACKAGE", 100)
    (pool / NAME).write_bytes(CONTENT)
    with pytest.raises(InputError, match="sends more than 100 bytes"):
        archive.fetch("de", (mirror,), apt=None)
