"""A line per request, of what was asked and never of what was said; and what happens where no line can be written."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import httpx
import pytest

from bankml.serve.access_log import as_json, plain
from bankml.serve.visit import Visit

FULL = Path("/dev/full")
SECRET = "the private words of a client"
VISIT = Visit(
    id="abc",
    client="127.0.0.1",
    method="POST",
    path="/api/embed",
    began=1.5,
    status=200,
    sent=123,
    seconds=0.01234,
    model="tiny",
    texts=2,
    tokens=7,
)


def test_a_plain_line():
    assert plain(VISIT) == (
        "1970-01-01T00:00:01.500Z 127.0.0.1 POST /api/embed 200 123B 12.3ms model=tiny texts=2 tokens=7 id=abc"
    )
    assert plain(Visit(id="a", began=0.0, method="GET", path="/", status=404, failure="not_found")) == (
        "1970-01-01T00:00:00.000Z - GET / 404 0B 0.0ms failure=not_found id=a"
    )


@pytest.mark.parametrize("name", ["my model", 'a"b', "a\nb", "a\x1b[31mb", "odd\udcff", "a=b c=d"])
def test_a_models_name_cannot_make_a_line_or_a_word(name):
    line = plain(Visit(id="abc", model=name))
    assert line.isprintable()
    assert re.search(r' model="([^"\\]|\\.)*" id=abc$', line)
    assert json.loads(as_json(Visit(id="abc", model=name)))["id"] == "abc"


def test_json_has_the_same_facts():
    expected = {"time": "1970-01-01T00:00:01.500Z", "client": "127.0.0.1", "method": "POST", "path": "/api/embed"}
    expected |= {"status": 200, "bytes": 123, "ms": 12.3, "model": "tiny", "texts": 2, "tokens": 7, "id": "abc"}
    assert json.loads(as_json(VISIT)) == expected


@contextmanager
def serving(
    tiny: Path, stderr: int | IO, *arguments: str, **environment: str
) -> Iterator[tuple[str, subprocess.Popen]]:
    """A server of `tiny` whose stderr is the test's own."""
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--port", "0", "--json", "--model", str(tiny)]
    env = os.environ | environment
    process = subprocess.Popen([*command, *arguments], env=env, stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        line = process.stdout.readline()
        assert line, f"the server ended with {process.wait()}"
        yield json.loads(line)["url"], process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        process.stdout.close()


def talk(url: str) -> None:
    """Requests of every kind that have something to hide."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {SECRET}"}, timeout=30) as client:
        client.post("/api/embed", json={"model": "tiny", "input": [SECRET, "b"]}, headers={"X-Request-Id": "mine"})
        client.post("/api/embed", json={"model": SECRET, "input": SECRET})
        client.post("/api/embed", content=SECRET)
        client.post("/v1/embeddings", json={"model": "tiny", "input": {SECRET: SECRET}})
        client.get("/api/version", params={"key": SECRET})
        client.post("/tokenize", json={"input": SECRET})


@pytest.mark.parametrize(("arguments", "environment"), [(["--access-log"], {}), ([], {"BANKML_ACCESS_LOG": "1"})])
def test_a_line_for_each_request_and_none_of_its_words(tiny, tmp_path, arguments, environment):
    log = tmp_path / "log"
    with log.open("w") as file, serving(tiny, file, *arguments, **environment) as (url, process):
        talk(url)
    assert process.returncode == 0
    first, *lines = log.read_text().splitlines()
    assert first == "bankml: model tiny: a file, as asked"
    assert [line.split()[4] for line in lines] == ["200", "400", "400", "400", "200", "200"]
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 127\.0\.0\.1 POST /api/embed 200 \d+B \d+\.\dms "
        r"model=tiny texts=2 tokens=\d+ id=mine",
        lines[0],
    )
    assert not any(word in log.read_text() for word in (SECRET, SECRET.split()[1], "Bearer", "key="))


def test_lines_of_json(tiny, tmp_path):
    log = tmp_path / "log"
    with log.open("w") as file, serving(tiny, file, "--access-log", "--log-format", "json") as (url, _):
        talk(url)
    lines = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    assert [line["status"] for line in lines] == [200, 400, 400, 400, 200, 200]
    assert SECRET not in log.read_text()


def test_without_being_asked_for_there_is_no_log(tiny, tmp_path):
    log = tmp_path / "log"
    with log.open("w") as file, serving(tiny, file) as (url, _):
        talk(url)
    assert log.read_text() == "bankml: model tiny: a file, as asked\n"


def lost(url: str) -> int:
    text = httpx.get(f"{url}/metrics").text
    return int(float(re.search(r"^bankml_log_lines_lost_total (\S+)", text, re.MULTILINE)[1]))


def assert_serves(url: str, times: int = 20) -> None:
    body = {"model": "tiny", "input": "a text"}
    with httpx.Client(base_url=url, timeout=30) as client:
        assert [client.post("/api/embed", json=body).status_code for _ in range(times)] == [200] * times


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_a_full_disk_for_the_log_fails_nothing(tiny):
    with FULL.open("w") as full, serving(tiny, full, "--access-log") as (url, process):
        assert_serves(url)
        assert lost(url) >= 20
    assert process.returncode == 0


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """Its two ends, small enough to be full soon."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    yield reader, writer
    for end in (reader, writer):
        with suppress(OSError):
            os.close(end)


def test_a_log_into_a_closed_pipe_fails_nothing(tiny):
    with pipe() as (reader, writer):
        os.close(reader)
        with serving(tiny, writer, "--access-log") as (url, process):
            assert_serves(url)
            assert lost(url) >= 20
    assert process.returncode == 0


def test_a_log_that_nobody_reads_holds_up_nobody(tiny):
    with pipe() as (reader, writer):
        with serving(tiny, writer, "--access-log") as (url, process):
            assert_serves(url, 200)  # a line has some 120 bytes: the pipe is full after 40
        assert process.returncode == 0
        assert 2000 < len(os.read(reader, 8192)) <= 4096
