"""Knowledge bases for tests of the page and of /kb/, and a server of one in this process."""

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import uvicorn

from bankml import models
from bankml.embedders import Embedder, NativeEmbedder
from bankml.errors import UnavailableError
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.room import Room
from bankml.serve.access import ANYBODY, Access
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.knowledge import Knowledge
from bankml.serve.listener import listen, url
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.workers import Workers
from bankml.store import DocumentRow, Passage, Store, documents, vectors

SKY = {
    "sky.md": "# Sky\n\nWhy is the sky blue? Air scatters short waves more than long ones.\n",
    "sea.md": "# Sea\n\nThe sea takes its colour from the sky above it, and from what swims in it.\n",
    "fast/ternary.txt": "The ternary model takes 2.4 s per token.\n\nOn two cores.\n",
}


def no_model(store: Store) -> Embedder:
    raise UnavailableError("no model is here; run `bankml init`")


def paragraphs(text: str) -> list[Passage]:
    """A passage for each; the first line that begins with # is the heading of all."""
    heading = next((line.strip("# ") for line in text.splitlines() if line.startswith("#")), "")
    return [
        Passage(found[0], heading, found.start(), found.end(), text.count("\n", 0, found.start()) + 1, None, 9)
        for found in re.finditer(r"\S(?:(?!\n\n).)*\S", text, re.DOTALL)
        if not found[0].startswith("#")
    ]


def put(store: Store, path: bytes, text: str, type: str = "markdown") -> None:
    """A document as `bankml add` would put it there, without vectors."""
    content = text.encode("utf-8", "surrogatepass")
    row = DocumentRow(path, type, path.decode("utf-8", "replace"), sha256(content).hexdigest(), len(content), 0, "")
    with store.writing() as db:
        documents.replace(db, row, paragraphs(text))


def write(folder: Path, texts: Mapping[str, str] = SKY) -> Path:
    """A knowledge base of these files, which lie in `folder` too."""
    folder.mkdir(exist_ok=True)
    with Store.create(folder / "kb.db") as store:
        for name, text in texts.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            put(store, os.fsencode(file), text, "markdown" if name.endswith(".md") else "text")
    return folder / "kb.db"


def embedded(path: Path, model: Path) -> Path:
    """The same, with the vector of every passage, bound to this model."""
    embedder = NativeEmbedder(models.choose(str(model)))
    with Store.open(path) as store, store.writing() as db:
        rows = db.execute("SELECT id, heading, text FROM chunks ORDER BY id").fetchall()
        texts = [Passage(text, heading, 0, 0, None, None, 0).embedded for _, heading, text in rows]
        binding.check(db, embedder)
        vectors.insert(db, [row[0] for row in rows], fingerprint(embedder), embedder.embed(texts))
    embedder.close()
    return path


@contextmanager
def opened(knowledge: Knowledge, model: Path, access: Access = ANYBODY) -> Iterator[str]:
    """The address of a whole server of this knowledge base in this process."""
    state = State(Names(models.choose(str(model))), Engines(300 * 10**9, 1, room=Room()), Workers(2))
    app = create_app(state, True, access, knowledge=knowledge)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
    with listen("127.0.0.1", 0) as listener:
        listener.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield url("127.0.0.1", listener)
        finally:
            server.should_exit = True
            thread.join(20)
            knowledge.close()
            state.close()
