"""The process: its one line, its socket, its end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from bankml import InputError
from bankml.serve import http as bankml_http
from bankml.serve.listener import listen, url
from tests.serve.wire import watched


def test_one_line_with_the_url_when_ready(home):
    env = os.environ | {"BANKML_HOME": str(home)}
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--model", "all-minilm", "--port", "0"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            address = line.split(" at ")[1].split()[0]
            loaded = httpx.get(f"{address}/api/ps").json()["models"]  # before any request asked for it
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
    assert line.startswith("bankml: serving all-minilm-l6-v2 at http://127.0.0.1:")
    assert [model["name"] for model in loaded] == ["all-minilm-l6-v2:latest"]
    assert (process.returncode, out) == (0, "")
    assert err == "bankml: model all-minilm-l6-v2: a built-in, as asked\n"


def test_sigterm_ends_it_with_work_in_flight(minilm):
    assert bankml_http.GRACE == 10
    with watched(minilm, patch="from bankml.serve import http; http.GRACE = 2") as server:
        body = {"model": minilm.stem, "input": ["word " * 600] * 5000}

        def ask() -> None:
            with pytest.raises((httpx.HTTPError, AssertionError)):
                assert httpx.post(f"{server.url}/api/embed", json=body, timeout=60).status_code == 200

        client = threading.Thread(target=ask)
        client.start()
        time.sleep(0.5)
        assert server.end(seconds=60) == 0  # the work takes minutes
        client.join()


def test_a_taken_port_is_one_sentence(server):
    port = server.url.rpartition(":")[2]
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"bankml: port {port} of 127.0.0.1 is taken; stop the other server or choose another with --port\n"
    )


def test_a_setting_that_is_none_is_told(tmp_path):
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--port", "0", "--model", str(tmp_path / "x.gguf")]
    done = subprocess.run(command, env=os.environ | {"BANKML_THREAD": "2"}, capture_output=True, text=True)
    assert done.stderr.splitlines()[0] == "bankml: BANKML_THREAD is no setting: did you mean BANKML_THREADS?"


def test_what_a_file_leaves_unsaid_is_told_once(home, unsaid, tmp_path):
    env = os.environ | {"BANKML_HOME": str(home)}
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--model", str(unsaid), "--port", "0"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().split(" at ")[1].split()[0]
            body = {"model": unsaid.stem, "input": "a", "keep_alive": 0}
            for _ in range(3):
                httpx.post(f"{address}/api/embed", json=body, timeout=30).raise_for_status()
                time.sleep(0.1)  # dropped, and loaded again by the next
        finally:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
    told = f"bankml: {unsaid}: tokenizer.ggml.token_type is absent: every token is taken as text\n"
    assert err == f"bankml: model {unsaid.stem}: a file, as asked\n{told}"


def test_a_file_whose_name_is_not_utf8_is_served(serving, home, minilm, tmp_path):
    odd = tmp_path / os.fsdecode(b"odd\xff.gguf")
    odd.symlink_to(minilm)
    with serving(home, "--model", str(odd)) as server:
        assert server.ready["model"] == "odd\ufffd"
        for path in ("/api/tags", "/api/ps", "/v1/models", "/health", "/info"):
            answer = httpx.get(server.url + path)
            assert (answer.status_code, "odd\ufffd" in answer.text) == (200, True), path


def test_listen_on_a_free_port():
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert url("127.0.0.1", listener) == f"http://127.0.0.1:{port}"
    with pytest.raises(OSError, match=r"."):
        listener.getsockname()


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_an_ipv6_address_is_bracketed():
    try:
        with listen("::1", 0) as listener:
            assert url("::1", listener).startswith("http://[::1]:")
    except InputError as error:
        pytest.skip(str(error))  # containers often have no ::1


def test_a_host_that_cannot_be_used_is_named():
    for host in ("host.invalid", "203.0.113.7", "a" * 300):
        with pytest.raises(InputError, match=host[:20]), listen(host, 0):
            pass


@pytest.fixture
def logged(home):
    """A server of all-minilm whose stderr is read at its end, with a second of grace."""
    env = os.environ | {"BANKML_HOME": str(home)}
    hurried = "from bankml.cli import main; from bankml.serve import http; http.GRACE = 1; main()"
    command = [sys.executable, "-c", hurried, "serve", "--native", "--model", "all-minilm", "--port", "0", "--json"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process, json.loads(process.stdout.readline())["url"]
        process.kill()


NOTE = "bankml: model all-minilm-l6-v2: a built-in, as asked\n"


def test_a_client_that_hangs_up_in_its_body_is_not_logged(logged):
    process, address = logged
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(f"POST /api/embed HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n\r\n{{".encode())
        time.sleep(0.2)
    time.sleep(0.2)
    assert httpx.get(f"{address}/health").status_code == 200
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1] == NOTE


def test_what_is_still_busy_at_the_end_is_told_so(logged):
    process, address = logged
    with ThreadPoolExecutor(2) as pool:
        body = {"model": "all-minilm", "input": ["word " * 600] * 5000}
        asked = [
            pool.submit(httpx.post, address + path, json=body, timeout=60) for path in ("/api/embed", "/v1/embeddings")
        ]
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        answers = [future.result() for future in asked]
    assert [answer.status_code for answer in answers] == [503, 503]
    assert answers[0].json()["error"] == answers[1].json()["error"]["message"]
    assert process.communicate(timeout=20)[1] == NOTE
    assert process.returncode == 0


# Connections that are slow, many-worded or cut short


HEAD = "POST /api/embed HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = json.dumps({"model": "all-minilm", "input": "sky"}).encode()
SIZED = f"{HEAD}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY


@contextmanager
def connected(server) -> Iterator[socket.socket]:
    """A connection; the server must be well when it is over."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        yield client
    assert httpx.post(f"{server.url}/api/embed", content=BODY).status_code == 200


def statuses(client: socket.socket, count: int) -> list[int]:
    """Statuses of the next answers; fewer when the server closes."""
    found = []
    with client.makefile("rb") as stream:
        while len(found) < count and (line := stream.readline()):
            found.append(int(line.split()[1]))
            head = dict(line.rstrip().lower().split(b": ", 1) for line in iter(stream.readline, b"\r\n"))
            assert head.get(b"transfer-encoding") != b"chunked" or stream.readline()
            stream.read(int(head.get(b"content-length", 0)))
    return found


def test_requests_in_a_row_on_one_connection(server):
    with connected(server) as client:
        client.sendall(SIZED * 5 + b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert statuses(client, 6) == [200] * 6


def test_a_refusal_does_not_end_the_connection(server):
    bad = f"{HEAD}Content-Length: 1\r\n\r\n{{".encode()
    with connected(server) as client:
        client.sendall(bad + SIZED + bad + SIZED)
        assert statuses(client, 4) == [400, 200, 400, 200]


def test_a_body_that_comes_byte_by_byte(server):
    with connected(server) as client:
        for byte in SIZED:
            client.sendall(bytes([byte]))
        assert statuses(client, 1) == [200]


def test_a_slow_body_holds_up_nobody(server):
    with connected(server) as client:
        client.sendall(SIZED[:-10])
        for _ in range(5):
            assert httpx.post(f"{server.url}/api/embed", content=BODY).status_code == 200
        client.sendall(SIZED[-10:])
        assert statuses(client, 1) == [200]


def test_a_body_that_stops_coming_ends_its_connection(tiny):
    impatient = (
        "from functools import partial; from bankml.cli import main; from bankml.serve import limits, server; "
        "limits.Limits = partial(limits.Limits, max_silence_seconds=0.3); main()"
    )
    command = [sys.executable, "-c", impatient, "serve", "--native", "--model", str(tiny), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            host, port = json.loads(process.stdout.readline())["url"].removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), timeout=20) as client:
                client.sendall(SIZED[:-10])
                assert statuses(client, 2) == [408]
        finally:
            process.send_signal(signal.SIGTERM)


def test_a_body_in_chunks(server):
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(BODY[k : k + 7]), BODY[k : k + 7]) for k in range(0, len(BODY), 7))
    with connected(server) as client:
        client.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n")
        assert statuses(client, 1) == [200]


def test_a_client_that_waits_to_be_told_to_continue(server):
    with connected(server) as client:
        client.sendall(f"{HEAD}Expect: 100-continue\r\nContent-Length: {len(BODY)}\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(BODY)
        assert statuses(client, 1) == [200]


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: -1",
        "Content-Length: ten",
        "Content-Length: \u00b2",
        "Content-Length: " + "9" * 5000,
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "No colon",
        "Bad\0: x",
        "Host: 127.0.0.1",
    ],
)
def test_heads_that_are_none(server, head):
    with connected(server) as client:
        client.sendall(f"{HEAD}{head}\r\n\r\n".encode("latin-1"))
        assert statuses(client, 1) == [400]


@pytest.mark.parametrize("chunks", [b"zz\r\n", b"-1\r\n", b"5\r\nab\r\n0\r\n\r\n", b"f" * 100 + b"\r\n"])
def test_chunks_that_are_none(server, chunks):
    with connected(server) as client:
        client.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks)
        client.shutdown(socket.SHUT_WR)
        assert statuses(client, 1) in ([], [400])


@pytest.mark.parametrize(
    "noise", [b"\0" * 1000, b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"hello\r\n\r\n", b"\r\n" * 10]
)
def test_what_is_not_http(server, noise):
    with connected(server) as client:
        client.sendall(noise)
        client.shutdown(socket.SHUT_WR)
        assert statuses(client, 1) in ([], [400])


@pytest.mark.parametrize("cut", [0, 1, len(HEAD), len(SIZED) - 1, len(SIZED)])
def test_a_client_that_says_no_more(server, cut):
    with connected(server) as client:
        client.sendall(SIZED[:cut])
        client.shutdown(socket.SHUT_WR)
        assert statuses(client, 1) in ([], [200])


def test_a_body_longer_than_it_was_said_to_be(server):
    with connected(server) as client:
        client.sendall(f"{HEAD}Content-Length: {len(BODY) - 1}\r\n\r\n".encode() + BODY + b"\r\n\r\n")
        assert statuses(client, 2) == [400, 400]
