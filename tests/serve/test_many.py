"""Thousands of connections that say nothing."""

import contextlib
import resource
import socket
import ssl
import time

import pytest

from bankml.serve import connections
from bankml.serve.connections import MOST, Room, most, raise_limit
from tests.serve.wire import BODY, GET, HEAD, SIZED, answers, statuses, until, vector, watched

IDLE = 2000


@pytest.fixture
def sockets():
    """Room for thousands of sockets in this process, closed at the end."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 5000:
        pytest.skip(f"this process may open {before[1]} files, too few for {IDLE} sockets")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 5000), before[1]))
    with contextlib.ExitStack() as stack:
        yield stack
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connect(sockets, server, count: int) -> list[socket.socket]:
    return [sockets.enter_context(server.connect()) for _ in range(count)]


def test_two_thousand_idle_connections(tiny, sockets):
    with watched(tiny) as server:
        right = vector(server)
        time.sleep(0.2)  # until the good client's connection is gone
        before = server.descriptors()
        clients = connect(sockets, server, IDLE)
        until(lambda: server.descriptors() >= before + IDLE - 1)
        assert vector(server) == right
        for client in clients[::100]:  # none of them was given up
            client.sendall(SIZED)
            [(status, _, body)] = answers(client, 1)
            assert (status, b"embeddings" in body) == (200, True)
        for client in clients:
            client.close()
        until(lambda: server.descriptors() <= before)
        assert vector(server) == right
        assert server.end() == 0
        assert server.logged().count("\n") == 1  # which model was chosen


def few(limit: int) -> str:
    """A patch that leaves the server `limit` descriptors."""
    return f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))"


def test_the_silent_make_way_for_who_has_something_to_say(tiny, sockets):
    """Of 128 descriptors 96 are for connections; whoever comes after them takes the place of the longest silent."""
    with watched(tiny, patch=few(128)) as server:
        right = vector(server)
        guest = sockets.enter_context(server.connect())
        guest.sendall(GET)
        assert statuses(guest, 1) == [200]
        clients = connect(sockets, server, 300)
        for _ in range(5):
            assert vector(server) == right
        guest.sendall(GET)
        assert statuses(guest, 1) == [200]  # who asked before stays
        clients[-1].sendall(GET)
        assert statuses(clients[-1], 1) == [200]
        clients[0].settimeout(5)
        with contextlib.suppress(ConnectionError):
            assert clients[0].recv(1) == b""
        assert server.descriptors() <= 128
        for client in clients:
            client.close()
        assert server.end() == 0
        assert server.logged().count("\n") == 1


def test_a_process_without_descriptors_comes_back(tiny, sockets):
    with watched(tiny) as server:
        right = vector(server)
        limit = server.descriptors() + 5
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
        for client in connect(sockets, server, 12):  # five a second are accepted, and the rest after a second each time
            client.close()
        assert vector(server) == right
        assert server.end() == 0
        log = server.logged()
    assert (log.count("socket.accept() out of system resource"), log.count("OSError"), "Traceback" in log) == (
        1,
        1,
        False,
    )


def test_when_all_are_at_work_one_more_is_told_so(tiny, sockets):
    with watched(tiny, patch=few(128)) as server:
        right = vector(server)
        clients = connect(sockets, server, 96)
        for client in clients:  # a request each, which waits for its body
            client.sendall(f"{HEAD}Expect: 100-continue\r\nContent-Length: {len(BODY)}\r\n\r\n".encode())
            assert client.recv(100).startswith(b"HTTP/1.1 100")
        late = sockets.enter_context(server.connect())
        late.sendall(GET)
        [(status, fields, body)] = answers(late, 2)
        assert (status, fields[b"content-type"]) == (503, b"application/json")
        assert b"as many connections as it can hold" in body
        connect(sockets, server, 300)  # most of them are not even told
        for client in clients:
            client.sendall(BODY)
            assert statuses(client, 1) == [200]  # nobody was hurt
        assert vector(server) == right
        assert server.end() == 0
        assert server.logged().count("\n") == 1


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "room", "pairs"),
    [
        (1024, 4096, 4096, 3072, 1536),
        (1024, 10_000, 10_000, MOST, 3750),
        (1024, 1_048_576, 65_536, MOST, MOST),
        (100_000, 1_048_576, 100_000, MOST, MOST),
        (64, 64, 64, 48, 24),
        (1024, resource.RLIM_INFINITY, 65_536, MOST, MOST),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, resource.RLIM_INFINITY, MOST, MOST),
    ],
)
def test_limits(monkeypatch, soft, hard, raised, room, pairs):
    now = [soft, hard]
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _: tuple(now))
    monkeypatch.setattr(connections.resource, "setrlimit", lambda _, pair: now.__setitem__(slice(2), pair))
    raise_limit()
    assert (now, most(), most(2)) == ([raised, hard], room, pairs)


class Client:
    def __init__(self, room: Room) -> None:
        self.room = room
        self.gone = False

    def make_way(self) -> None:
        self.gone = True


def test_who_makes_way():
    room = Room(3)
    early, late, guest = (Client(room) for _ in range(3))
    room.wait(guest, stranger=False)
    room.wait(early, stranger=True)
    room.wait(late, stranger=True)
    assert room.take(3)
    assert not any((early.gone, late.gone, guest.gone))
    for client in (early, late, guest):
        assert room.take(4)
        assert client.gone
    assert not room.take(4)
    room.wait(guest, stranger=False)
    room.leave(guest)
    assert not room.take(4)


def test_the_process_may_open_more_after_the_start(tiny):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))"
    with watched(tiny, patch=soft) as server:
        now, _ = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        assert now == min(hard, connections.DESCRIPTORS) or hard == resource.RLIM_INFINITY


@pytest.mark.parametrize("silent", [300, 3000])
def test_who_never_shakes_hands_keeps_nobody_out(tiny, pair, sockets, silent):
    """Of 128 descriptors; a handshake has ten seconds, which is longer than this takes."""
    trust = ssl.create_default_context(cafile=pair.authority)
    options = ("--tls-cert", pair.certificate, "--tls-key", pair.key)
    with watched(tiny, *options, patch=few(128)) as server:
        right = vector(server, verify=trust)
        clients = connect(sockets, server, silent)
        started = time.monotonic()
        for _ in range(3):
            assert vector(server, verify=trust) == right
        assert time.monotonic() - started < 8
        assert server.descriptors() < 128
        for client in clients:
            client.close()
        assert vector(server, verify=trust) == right
        assert server.end() == 0
        assert server.logged().count("\n") == 1
