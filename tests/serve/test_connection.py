"""Connections of clients that are slow, many-worded, silent, or gone."""

import json
import re
import socket
import struct
import threading
import time

import httpx
import pytest

from tests.serve.wire import BODY, GET, HEAD, SIZED, answers, is_over, statuses, until, vector, watched

SHORT = "from bankml.serve import server, limits, connection as c; c.HEAD = c.STALL = c.REST = {0}"
SHORT += "; c.IDLE = 2 * {0}; c.LINGER = {0} / 2; from functools import partial"
SHORT += "; limits.Limits = partial(limits.Limits, max_silence_seconds={0}, max_body_seconds={0})"


@pytest.fixture(scope="module")
def server(tiny):
    """With its usual patience."""
    with watched(tiny) as server:
        yield server
        assert server.end() == 0
        assert_silent(server)


@pytest.fixture(scope="module")
def hasty(tiny):
    """With half a second of patience for everything."""
    with watched(tiny, patch=SHORT.format(0.5)) as server:
        yield server
        assert server.end() == 0
        assert_silent(server)


@pytest.fixture(scope="module")
def right(server) -> list[float]:
    return vector(server)


@pytest.fixture(autouse=True)
def well(request, right):
    """After each of these clients the next good request is answered right, at once."""
    yield
    for name in {"server", "hasty"} & set(request.fixturenames):
        assert vector(request.getfixturevalue(name)) == right


def assert_silent(server) -> None:
    """Nothing was logged but which model was chosen."""
    assert re.fullmatch(r"bankml: model tiny: [^\n]*\n", server.logged()), server.logged()


# Heads


def head(size: int, path: bytes = b"/") -> bytes:
    """A whole request of `size` bytes."""
    start = b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nX: "
    return start + b"y" * (size - len(start) - 4) + b"\r\n\r\n"


def test_a_large_head(server):
    with server.connect() as client:
        client.sendall(head(60_000))
        assert statuses(client, 1) == [200]


@pytest.mark.parametrize(
    "data",
    [
        head(70_000),
        head(200_000),
        head(3_000_000),
        head(3_000_000)[:-4],
        b"GET /" + b"a" * 200_000,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 12_000 + b"\r\n",
        b"a" * 200_000,
        f"{HEAD}X: {'y' * 70_000}\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY,
    ],
    ids=range(8),
)
def test_a_head_that_is_too_large(server, data):
    with server.connect() as client:
        client.sendall(data)
        [(status, fields, body)] = answers(client, 2)
        assert (status, fields[b"content-type"], fields[b"connection"]) == (431, b"application/json", b"close")
        assert json.loads(body)["error"].startswith("the head of the request is larger than 64 KiB; ")
        assert is_over(client)


def test_a_refusal_reaches_a_client_that_goes_on_sending(server):
    """Who closes while bytes come resets the connection, and the client sees that before the answer."""
    data = head(2_000_000)
    with server.connect() as client:
        for start in range(0, len(data), 100_000):
            client.sendall(data[start : start + 100_000])
            time.sleep(0.02)
        assert statuses(client, 1) == [431]


@pytest.mark.parametrize("data", [b"G", GET[:-1], SIZED[:20], GET[:-4]])
def test_a_head_that_stops_coming(hasty, data):
    with hasty.connect() as client:
        client.sendall(data)
        [(status, _, body)] = answers(client, 2)
        assert (status, json.loads(body)["error"].startswith("the head of the request was not complete")) == (408, True)
        assert is_over(client)


def drip(client: socket.socket, data: bytes) -> float:
    """Seconds after which the server has had enough of bytes that come one by one."""
    started = time.monotonic()
    try:
        for byte in data[:1000]:
            client.sendall(bytes([byte]))
            time.sleep(0.05)
    except OSError:  # reset or closed, as it comes
        pass
    return time.monotonic() - started


def test_a_head_that_drips(hasty):
    """A byte at a time does not begin the time anew."""
    with hasty.connect() as client:
        assert drip(client, head(10_000)) < 10


def test_the_head_of_a_second_request_that_stops_coming(hasty):
    with hasty.connect() as client:
        client.sendall(GET + GET[:-1])
        assert statuses(client, 3) == [200, 408]
    with hasty.connect() as client:
        client.sendall(GET)
        assert statuses(client, 1) == [200]
        client.sendall(GET[:-1])
        assert statuses(client, 2) == [408]


def test_a_connection_that_never_says_anything(hasty):
    with hasty.connect() as client:
        assert is_over(client)


def test_a_connection_that_says_nothing_more(hasty):
    with hasty.connect() as client:
        client.sendall(GET)
        assert statuses(client, 2) == [200]


def test_a_connection_may_be_used_again_and_again(hasty):
    with hasty.connect() as client:
        for _ in range(6):
            client.sendall(SIZED)
            assert statuses(client, 1) == [200]
            time.sleep(0.2)


# Bodies


def test_a_body_that_stops_coming(hasty):
    with hasty.connect() as client:
        client.sendall(SIZED[:-10])
        assert statuses(client, 2) == [408]
        assert is_over(client)


def test_a_body_that_drips(hasty):
    """Each byte comes soon enough, all of them do not."""
    with hasty.connect() as client:
        client.sendall(f"{HEAD}Content-Length: 100000\r\n\r\n".encode())
        assert drip(client, b" " * 10_000) < 10


def test_the_rest_of_a_body_that_is_refused_already(hasty):
    """As much of it as comes in time is taken, so that the client reads the answer; a client that drips is let go."""
    with hasty.connect() as client:
        client.sendall(f"{HEAD}Content-Length: 1000000000\r\n\r\n".encode())
        assert statuses(client, 1) == [413]
        assert drip(client, b" " * 10_000) < 10


def test_a_body_that_is_refused_and_comes_whole(server):
    with server.connect() as client:
        body = b" " * 17_000_000
        client.sendall(f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body + SIZED)
        assert statuses(client, 2) == [413, 200]


def test_a_body_that_is_refused_and_damaged(server):
    with server.connect() as client:
        client.sendall(f"{HEAD}Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        assert statuses(client, 1) == [415]
        client.sendall(b"zz\r\n")
        assert statuses(client, 1) == []


def test_a_damaged_chunk_while_the_body_is_awaited(server):
    with server.connect() as client:
        client.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n".encode())
        time.sleep(0.1)
        client.sendall(b"zz\r\n")
        assert statuses(client, 2) == [400]


@pytest.mark.parametrize("length", ["99999999999999999999", str(2**63), str(2**64), "18446744073709551615"])
def test_an_absurd_length(server, length):
    with server.connect() as client:
        client.sendall(f"{HEAD}Content-Length: {length}\r\n\r\n".encode())
        assert statuses(client, 1) in ([413], [400])


# Bytes that are not what they seem


@pytest.mark.parametrize(
    "fields",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 50",
        "Content-Length: 5, 50",
        "Transfer-Encoding: chunked, identity",
    ],
)
def test_a_body_of_two_lengths(server, fields):
    """Were one of them believed, what follows could be a second request that a proxy in front has not seen."""
    with server.connect() as client:
        client.sendall(f"{HEAD}{fields}\r\n\r\n0\r\n\r\n".encode() + GET)
        assert statuses(client, 3) == [400]


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 1000,
        b"\x16\x03\x01\x02\x00\x01",
        b"GET\r\n\r\n",
        b"hello\r\n\r\n",
        b"\r\n" * 10,
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\nHost: localhost\nX : y\n\n",
    ],
)
def test_what_is_no_http(server, data):
    with server.connect() as client:
        client.sendall(data)
        client.settimeout(5)
        [(status, fields, body)] = answers(client, 2)
        assert (status, fields[b"content-type"]) == (400, b"application/json")
        assert json.loads(body)["error"].startswith("this is no HTTP: ")


def test_a_request_to_upgrade_is_answered_as_any_other(server):
    for protocol in (b"websocket", b"h2c"):
        with server.connect() as client:
            client.sendall(GET[:-2] + b"Connection: Upgrade\r\nUpgrade: " + protocol + b"\r\n\r\n")
            assert statuses(client, 1) == [200]


@pytest.mark.parametrize("more", [b"", b"Connection: keep-alive\r\n"])
def test_http_1_0(server, more):
    with server.connect() as client:
        client.sendall(b"GET / HTTP/1.0\r\n" + more + b"\r\n")
        assert statuses(client, 2) == [200]
    with server.connect() as client:
        client.sendall(SIZED.replace(b"HTTP/1.1", b"HTTP/1.0"))
        [(status, _, body)] = answers(client, 1)
        assert (status, len(json.loads(body)["embeddings"])) == (200, 1)


def test_pipelined_requests_of_all_kinds(server):
    bad = f"{HEAD}Content-Length: 1\r\n\r\n{{".encode()
    with server.connect() as client:
        client.sendall((SIZED + GET + bad) * 20 + b"nonsense\r\n\r\n" + SIZED)
        assert statuses(client, 100) == [200, 200, 400] * 20 + [400]


def test_expect_100_continue(server):
    waiting = f"{HEAD}Expect: 100-continue\r\nContent-Length: "
    with server.connect() as client:
        client.sendall(f"{waiting}{len(BODY)}\r\n\r\n".encode())
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(BODY)
        assert statuses(client, 1) == [200]
    with server.connect() as client:  # refused without its body: nobody is told to continue
        client.sendall(f"{waiting}{10**9}\r\n\r\n".encode())
        assert statuses(client, 1) == [413]
    with server.connect() as client:
        client.sendall(f"{waiting}5\r\nConnection: close\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 100")  # and then it goes


# Clients that go


def reset(client: socket.socket) -> None:
    """Close with RST, as a process that is killed with unread bytes does."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@pytest.mark.parametrize("end", [socket.socket.close, reset])
@pytest.mark.parametrize("cut", [0, 1, 30, len(SIZED) - 1, len(SIZED)])
def test_a_client_that_goes_in_its_request(server, end, cut):
    for _ in range(20):
        client = server.connect()
        client.sendall(SIZED[:cut])
        end(client)


MANY = json.dumps({"model": "tiny", "input": ["some words"] * 10_000}).encode()
LARGE = f"{HEAD}Content-Length: {len(MANY)}\r\n\r\n".encode() + MANY


@pytest.mark.parametrize("end", [socket.socket.close, reset])
@pytest.mark.parametrize("read", [0, 1, 100_000])
def test_a_client_that_goes_in_its_answer(server, end, read):
    for _ in range(3):
        client = server.connect()
        client.sendall(LARGE)
        while read > 0:
            read -= len(client.recv(min(read, 65536)))
        end(client)


def test_a_client_that_does_not_read_its_answer(hasty):
    """The system takes some 4 MB of the 8 for it; the rest would wait for ever."""
    with hasty.connect() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(LARGE)
        time.sleep(0.2)
        before = hasty.descriptors()
        until(lambda: hasty.descriptors() < before)


def test_a_client_that_reads_slowly_gets_all_of_it(tiny):
    """For longer than the patience with one that does not read; it is 3 s, since the system takes more by the MB."""
    answer = bytearray()
    with watched(tiny, patch="from bankml.serve import connection; connection.STALL = 3") as server:
        with server.connect() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            client.sendall(LARGE.replace(b"Host", b"Connection: close\r\nHost", 1))
            while piece := client.recv(100_000):
                answer += piece
                time.sleep(0.08)
        assert server.end() == 0
    chunks = answer.partition(b"\r\n\r\n")[2].split(b"\r\n")[1::2]  # lines of sizes and chunks in turn
    assert len(json.loads(b"".join(chunks))["embeddings"]) == 10_000


def test_all_of_them_at_once(server, right):
    """Bad clients of every kind beside good ones: no good one sees anything of them."""
    over = threading.Event()

    def abuse(number: int) -> None:
        kinds = [
            SIZED[:-3],
            GET[:-1],
            b"\0garbage",
            head(100_000),
            LARGE,
            f"{HEAD}Content-Length: 1\r\n\r\n{{".encode(),
        ]
        while not over.is_set():
            number += 1
            client = server.connect()
            client.sendall(kinds[number % len(kinds)])
            (reset if number % 2 else socket.socket.close)(client)

    threads = [threading.Thread(target=abuse, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        with httpx.Client(base_url=server.url, timeout=60) as http:
            for _ in range(10):
                answer = http.post("/api/embed", content=BODY)
                assert answer.status_code == 200, answer.text
                assert answer.json()["embeddings"] == [right]
    finally:
        over.set()
        for thread in threads:
            thread.join()
