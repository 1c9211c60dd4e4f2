"""An Ollama of the test's own on a real socket, which answers as it is told to."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

Act = Callable[[BaseHTTPRequestHandler], None]


class Scripted:
    """`answers`: by path, what is sent back: an object as JSON, (status, object or bytes), or who does it himself."""

    def __init__(self, url: str, dims: int) -> None:
        self.url = url
        self.dims = dims
        self.seen: list[tuple[str, Any]] = []  # path, body
        self.answers: dict[str, Any] = {"/api/version": {"version": "0.13.3"}}
        self.over = threading.Event()  # of the test

    def asked(self, path: str) -> list[Any]:
        return [body for seen, body in self.seen if seen == path]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.seen.append((handler.path, json.loads(body) if body else None))
        found = self.answers.get(handler.path)
        if found is None and handler.path == "/api/embed":
            found = {"embeddings": [vector(text, self.dims) for text in json.loads(body)["input"]]}
        if callable(found):
            return found(handler)
        status, said = found if isinstance(found, tuple) else (404 if found is None else 200, found)
        send(handler, status, said if isinstance(said, bytes) else json.dumps(said).encode())


def vector(text: str, dims: int) -> list[float]:
    """What the scripted model makes of a text: not of unit length."""
    return np.random.default_rng(list(text.encode())).standard_normal(dims).tolist()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def scripted(dims: int = 64) -> Iterator[Scripted]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):  # who asked has left
                ollama.answer(self)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    ollama = Scripted(f"http://127.0.0.1:{server.server_port}", dims)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield ollama
    finally:
        ollama.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
