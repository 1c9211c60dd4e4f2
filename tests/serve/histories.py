"""Histories for tests of the page, and the page's server in this process."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from bankml.embedders import Embedder
from bankml.errors import UnavailableError
from bankml.history.searcher import Searcher
from bankml.serve import history_server
from bankml.serve.listener import listen, url
from bankml.serve.ragebar import Ragebar

SKY = [
    ("Why is the sky blue?", "Air scatters short waves more than long ones."),
    ("How fast is the ternary model?", "It takes 2.4 s per token.\n\nOn two cores."),
    ("Warum ist der Himmel blau?", "Luft streut kurzes Licht stärker."),
]


def write(path: Path, exchanges: list[tuple[str, str]], mode: str = "w") -> Path:
    """A history of these exchanges, or with them appended."""
    with path.open(mode, encoding="utf-8") as file:
        file.writelines(json.dumps({"user": user, "assistant": said}) + "\n" for user, said in exchanges)
    return path


def no_model() -> Embedder:
    raise UnavailableError("no model is here; run `bankml pull all-minilm`")


def ragebar(path: Path, choose: Callable[[], Embedder] = no_model) -> Ragebar:
    return Ragebar(path, Searcher(path, choose))


@contextmanager
def opened(path: Path, choose: Callable[[], Embedder] = no_model) -> Iterator[str]:
    """The address that `bankml history open` would print, of a server in this process."""
    bar = ragebar(path, choose)
    app = history_server.create_app(bar)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
    with listen("127.0.0.1", 0) as listener:
        listener.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"{url('127.0.0.1', listener)}/ui?token={bar.session.token}"
        finally:
            server.should_exit = True
            thread.join(20)
            bar.close()
