"""Where clients find the server: a port of an address, or a Unix socket; nobody else's is ever taken away."""

import contextlib
import errno
import fcntl
import ipaddress
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from bankml.errors import InputError

BACKLOG = 2048  # connections that wait to be accepted
UNIX = getattr(socket, "AF_UNIX", None)


@contextlib.contextmanager
def listen(host: str, port: int, option: str = "--port") -> Iterator[socket.socket]:
    """A socket bound to host and port (0: a free one), closed at the end.

    Raises InputError when that cannot be, with the `option` that chooses another.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise InputError(f"the host {host!r} cannot be used ({error}); give an address of this machine") from None
    with listener:
        if hasattr(socket, "SO_REUSEPORT"):  # everywhere but on Windows, where REUSEADDR would share a live port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except (OSError, OverflowError) as error:
            raise InputError(_cannot_bind(host, port, error, option)) from None
        yield listener


@contextlib.contextmanager
def listen_unix(path: Path) -> Iterator[socket.socket]:
    """A Unix socket that this user alone can reach, removed at the end.

    It listens at once, so that another server that starts meanwhile sees that it is taken (a file `.lock` beside it
    lives until then); who connects waits until the
    model is loaded. The socket that a dead server left is replaced. Raises InputError when another server answers at
    `path`, when something else than a socket lies there, or when the system refuses.
    """
    if UNIX is None:
        raise InputError("this system has no Unix sockets; use --host and --port")
    with socket.socket(UNIX, socket.SOCK_STREAM) as listener:
        try:
            with _alone(path):
                _make_way(path)
                _bind_private(listener, path)
                listener.listen(BACKLOG)
                ours = path.lstat()
        except OSError as error:
            raise InputError(f"{path}: no socket can be made there ({error}); choose another path for --uds") from None
        try:
            yield listener
        finally:
            with contextlib.suppress(OSError):
                if os.path.samestat(path.lstat(), ours):
                    path.unlink()


def is_public(listener: socket.socket) -> bool:
    """Whether other machines may reach it."""
    return listener.family != UNIX and not ipaddress.ip_address(_address(listener)).is_loopback


def is_loopback(listener: socket.socket) -> bool:
    """Whether it is a port that only programs of this machine reach, web browsers among them."""
    return listener.family != UNIX and not is_public(listener)


def url(host: str, listener: socket.socket, tls: bool = False) -> str:
    """The address to give to clients; `unix:PATH` of a Unix socket."""
    if listener.family == UNIX:
        return f"unix:{os.path.abspath(listener.getsockname())}"
    return f"http{'s' * tls}://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One server at a time: a socket that is bound and does not listen yet looks like a dead server's."""
    lock = Path(f"{path}.lock")
    with contextlib.ExitStack() as stack:
        while True:
            held = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
            stack.callback(os.close, held)
            fcntl.flock(held, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(lock.lstat(), os.fstat(held)):  # else the one before has removed it
                    break
        stack.callback(lock.unlink, missing_ok=True)
        yield


def _make_way(path: Path) -> None:
    """Remove the socket of a server that is dead."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise InputError(f"{path} is there and is no socket; remove it yourself or choose another path for --uds")
    with socket.socket(UNIX or 0, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except (BlockingIOError, TimeoutError):
            pass  # a live one whose backlog is full
    raise InputError(f"a server is listening on {path}; stop it or choose another path for --uds")


def _bind_private(listener: socket.socket, path: Path) -> None:
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)


def _address(listener: socket.socket) -> str:
    return str(listener.getsockname()[0]).partition("%")[0]  # of an IPv6 address the scope stands behind the %


def _cannot_bind(host: str, port: int, error: Exception, option: str) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken; stop the other server or choose another with {option}"
    if isinstance(error, PermissionError):
        return f"port {port} of {host} needs privileges; choose one above 1023 with {option}"
    return f"{host}:{port} cannot be listened on ({error}); choose another with {option}"
