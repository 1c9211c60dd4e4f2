"""A hub on this machine: what huggingface.co answers to those who pull, and what can go wrong with it."""

import hashlib
import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CHUNK = 1 << 16
LARGE = (".gguf", ".safetensors", ".bin", ".onnx")  # kept by LFS, with a sha256


@dataclass
class Repository:
    """Files by path. `token`: who has it may read; `gated`: the listing is for everybody, files are for the token."""

    files: dict[str, bytes]
    licence: str = "mit"
    token: str | None = None
    gated: bool = False
    revisions: tuple[str, ...] = ("main", COMMIT)
    in_git: tuple[str, ...] = ()  # files that are kept without LFS, so that no sha256 is stated


@dataclass
class Request:
    method: str
    path: str
    range: str | None
    authorization: str | None
    agent: str | None
    status: int = 0
    sent: int = 0
    left: bool = False  # whoever asked closed the connection before the end


@dataclass
class Hub:
    """Set what goes wrong while it runs; `requests` is what was asked, in order."""

    url: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)  # answers instead of the next ones
    cuts: list[int] = field(default_factory=list)  # the next files' connections break after so many bytes
    pause_after: int | None = None  # bytes of a file, after which nothing comes until `go` is set
    paused: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    instead: bytes | None = None  # of every file's content
    changed: dict[str, bytes] = field(default_factory=dict)  # what files hold since they were listed, by path
    then: str = ""  # "more": a file's body, in chunks, never ends; "silence": nor does it, and nothing more comes
    ranges: bool = True  # whether Range is honoured
    page: bytes | None = None  # instead of every listing

    def add(self, name: str, files: dict[str, bytes], **more: Any) -> None:
        self.repositories[name] = Repository(files, **more)

    def fetched(self, name: str) -> list[str]:
        """The files of the repository `name` whose bytes were asked for, in order."""
        place = f"/cdn/{name}/"
        return [request.path.removeprefix(place) for request in self.downloads if request.path.startswith(place)]

    @property
    def downloads(self) -> list[Request]:
        """Requests for the bytes of files."""
        return [request for request in self.requests if request.path.startswith("/cdn/")]

    def expect(self, request: Request) -> int | None:
        self.requests.append(request)
        return self.statuses.pop(0) if self.statuses else None


@contextmanager
def running() -> Iterator[Hub]:
    """A hub on a free port."""
    hub = Hub()

    class Handler(_Handler):
        state = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.go.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Hub

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        headers = self.headers
        self.request_seen = Request(
            self.command, self.path, headers["Range"], headers["Authorization"], headers["User-Agent"]
        )
        status = self.state.expect(self.request_seen)
        path = unquote(urlsplit(self.path).path)
        if status:
            self._answer(status, b"{}")
        elif path.startswith("/api/models/"):
            self._listing(*path.removeprefix("/api/models/").split("/revision/"))
        elif path.startswith("/cdn/"):
            self._file(path.removeprefix("/cdn/"))
        else:
            self._resolve(path)

    def _listing(self, name: str, revision: str = "main") -> None:
        if self.state.page is not None:
            return self._answer(200, self.state.page)
        if not (repository := self._readable(name, listing=True)):
            return None
        if revision not in repository.revisions:
            return self._answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        tags = ["gguf", f"license:{repository.licence}"] if repository.licence else []
        siblings = [_sibling(path, content, repository) for path, content in repository.files.items()]
        info = {"id": name, "sha": COMMIT, "gated": repository.gated, "tags": tags, "siblings": siblings}
        return self._answer(200, json.dumps(info).encode(), {"Content-Type": "application/json"})

    def _resolve(self, path: str) -> None:
        name, _, rest = path[1:].partition("/resolve/")
        revision, _, file = rest.partition("/")
        if not (repository := self._readable(name, listing=False)):
            return None
        if revision not in repository.revisions or file not in repository.files:
            return self._answer(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        content = repository.files[file]
        digest = hashlib.sha256(content).hexdigest()
        port = self.server.server_address[1]
        linked = {"X-Repo-Commit": COMMIT, "X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(content))}
        place = {"Location": f"http://localhost:{port}/cdn/{name}/{file}"}  # another host, as a CDN is
        return self._answer(302, b"", linked | place)

    def _file(self, path: str) -> None:
        owner, repo, file = path.split("/", 2)
        content = self.state.repositories[f"{owner}/{repo}"].files[file]
        content = self.state.changed.get(file, content) if self.state.instead is None else self.state.instead
        first = int((self.headers["Range"] or "bytes=0-")[len("bytes=") : -1]) if self.state.ranges else 0
        if first >= len(content) > 0:
            return self._answer(416, b"")
        headers = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"} if first else {}
        if self.state.then:
            return self._without_end(206 if first else 200, content[first:], headers)
        return self._answer(206 if first else 200, content[first:], headers, is_file=True)

    def _without_end(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Transfer-Encoding": "chunked", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        try:
            self._chunk(body)
            for _ in range(300):  # three seconds: whoever asked should have left by then
                time.sleep(0.01)
                self._chunk(bytes(CHUNK) if self.state.then == "more" else b"")
        except OSError:
            self.request_seen.left = True

    def _chunk(self, content: bytes) -> None:
        """Nothing for no content, but for noticing that the connection was closed."""
        if content:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        elif select.select([self.connection], [], [], 0)[0] and not self.connection.recv(1):
            raise ConnectionResetError

    def _readable(self, name: str, listing: bool) -> Repository | None:
        """None after the refusal was sent. As the real hub does, it says 401 for what it has not, too."""
        repository, asked = self.state.repositories.get(name), self.headers["Authorization"]
        if repository is None:
            self._answer(401 if asked is None else 404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif repository.token is None or asked == f"Bearer {repository.token}" or (repository.gated and listing):
            return repository
        elif repository.gated:
            self._answer(401 if asked is None else 403, b"{}", {"X-Error-Code": "GatedRepo"})
        else:
            self._answer(401 if asked is None else 404, b"{}", {"X-Error-Code": "RepoNotFound"})
        return None

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None, is_file: bool = False) -> None:
        self.request_seen.status = status
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self._send(body, is_file)

    def _send(self, body: bytes, is_file: bool) -> None:
        hub = self.state
        cut = hub.cuts.pop(0) if is_file and hub.cuts else len(body)
        try:
            while (at := self.request_seen.sent) < cut:
                if is_file and hub.pause_after is not None and at >= hub.pause_after and not hub.go.is_set():
                    hub.paused.set()
                    hub.go.wait(60)
                self.wfile.write(body[at : min(at + CHUNK, cut)])
                self.request_seen.sent = min(at + CHUNK, cut)
        except OSError:  # whoever asked has left
            self.close_connection = True
        if cut < len(body):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True


def _sibling(path: str, content: bytes, repository: Repository) -> dict[str, Any]:
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    entry = {"rfilename": path, "size": len(content), "blobId": blob}
    if path.endswith(LARGE) and path not in repository.in_git:
        entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
    return entry
