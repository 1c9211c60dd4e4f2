"""Ports and Unix sockets: what is taken stays with whom it belongs to."""

import asyncio
import os
import signal
import socket
import stat
import threading

import httpx
import pytest

from bankml import InputError
from bankml.serve import listener
from bankml.serve.http import _serve
from bankml.serve.listener import is_loopback, is_public, listen, listen_unix, url
from tests.serve.wire import BODY, refused, watched


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A path that is short enough for a socket."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "s"


def asked(path, **headers) -> httpx.Response:
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), timeout=30) as client:
        return client.post("http://anything.example/api/embed", content=BODY, headers=headers)


@pytest.fixture
def dead(path):
    """What a server leaves that was killed."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    return path


def test_a_unix_socket_for_this_user_alone(tiny, path):
    before = os.umask(0)
    try:
        with watched(tiny, "--uds", path) as server:
            assert server.url == f"unix:{path}"
            assert stat.S_IMODE(path.lstat().st_mode) == 0o600
            for host in ("127.0.0.1", "evil.example", ""):
                assert asked(path, host=host).status_code == 200
            assert asked(path, origin="https://evil.example").status_code == 415
            assert server.end() == 0
            assert (path.exists(), server.logged().count("\n")) == (False, 1)  # which model was chosen
    finally:
        os.umask(before)


def test_a_path_from_here(tiny, path):
    with watched(tiny, "--uds", path.name) as server:
        assert server.url == f"unix:{path}"


@pytest.mark.parametrize("first", [["--uds", "s"], []])
def test_a_second_server_is_refused_and_the_first_goes_on(tiny, path, first):
    with watched(tiny, *first) as server:
        second = first or ["--port", str(server.address[1])]
        status, sentence = refused(*second)
        assert (status, "is listening on" in sentence or "is taken" in sentence) == (1, True)
        assert "stop" in sentence
        client = {"transport": httpx.HTTPTransport(uds=str(path))} if first else {}
        with httpx.Client(**client) as http:
            address = "http://localhost" if first else server.url
            assert http.post(f"{address}/api/embed", content=BODY).status_code == 200


def test_a_second_server_while_the_first_loads(path):
    with listen_unix(path), pytest.raises(InputError, match="a server is listening on"), listen_unix(path):
        pass
    assert not path.exists()


def test_the_socket_of_a_dead_server_is_replaced(tiny, dead):
    with watched(tiny, "--uds", dead) as server:
        assert asked(dead).status_code == 200
        server.end(signal.SIGKILL)
    assert dead.exists()
    with watched(tiny, "--uds", dead):
        assert asked(dead).status_code == 200


@pytest.mark.parametrize("kind", ["file", "folder", "link", "fifo"])
def test_what_is_no_socket_is_left_alone(path, kind):
    {
        "file": lambda: path.write_text("mine"),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to("mine"),
        "fifo": lambda: os.mkfifo(path),
    }[kind]()
    before = path.lstat()
    status, sentence = refused("--uds", path)
    assert (status, sentence.startswith(f"{path} is there and is no socket")) == (1, True)
    assert os.path.samestat(path.lstat(), before)


def test_a_link_to_a_dead_socket_is_left_alone(dead, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(dead)
    with pytest.raises(InputError, match="is no socket"), listen_unix(link):
        pass
    assert dead.exists()


def test_only_its_own_is_removed(path):
    with listen_unix(path):
        path.unlink()
        path.write_text("mine")
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["no/folder/s", "a" * 200, "a/" * 100])
def test_a_path_that_cannot_be(path, name):
    with pytest.raises(InputError, match=r"choose another path for --uds"), listen_unix(path / name):
        pass


def test_a_folder_that_is_closed(path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    path.mkdir(0o500)
    with pytest.raises(InputError, match="Permission denied"), listen_unix(path / "s"):
        pass


def test_who_can_reach_it(path):
    for host, public in (("127.0.0.1", False), ("127.8.8.8", False), ("localhost", False), ("0.0.0.0", True)):
        with listen(host, 0) as listener:
            assert (is_public(listener), is_loopback(listener)) == (public, not public), host
    with listen_unix(path) as listener:
        assert (is_public(listener), is_loopback(listener)) == (False, False)
        assert url("127.0.0.1", listener, tls=True) == f"unix:{path}"


def test_two_that_have_bound_one_port_and_not_yet_listened():
    """Linux allows it; the later one to listen is told in a sentence."""
    with listen("127.0.0.1", 0) as first, listen("127.0.0.1", first.getsockname()[1]) as second:
        first.listen()
        with pytest.raises(InputError, match=r"cannot be listened on .*stop the other server"):
            asyncio.run(_serve(asyncio.Protocol, second, None))
        socket.create_connection(first.getsockname()).close()


def test_a_second_server_between_the_steps_of_the_first(path, monkeypatch):
    """A socket that is bound and does not listen yet refuses who connects, as one does that a dead server left."""
    errors, bind = [], listener._bind_private

    def second() -> None:
        with pytest.raises(InputError) as error, listen_unix(path):
            pass
        errors.append(str(error.value))

    other = threading.Thread(target=second)

    def bind_and_wait(*arguments) -> None:
        monkeypatch.setattr(listener, "_bind_private", bind)
        bind(*arguments)
        other.start()
        other.join(0.5)

    monkeypatch.setattr(listener, "_bind_private", bind_and_wait)
    with listen_unix(path):
        other.join(20)
        assert errors == [f"a server is listening on {path}; stop it or choose another path for --uds"]
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
    assert os.listdir(path.parent) == []
