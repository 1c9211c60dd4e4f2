"""The server's application in this process."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import trustme

from bankml import models
from bankml.room import Room
from bankml.serve.access import ANYBODY, Access
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.knowledge import Knowledge
from bankml.serve.ledger import Ledger
from bankml.serve.limits import Limits
from bankml.serve.names import Names
from bankml.serve.ragebar import Ragebar
from bankml.serve.state import State
from bankml.serve.workers import Workers
from oracle import seeded
from tests.serve.browsing import chromium

Ask = Callable[..., httpx.Response]


@contextmanager
def inside(
    model: Path,
    room: Room | None = None,
    access: Access = ANYBODY,
    ragebar: Ragebar | None = None,
    knowledge: Knowledge | None = None,
    **limits: float,
) -> Iterator[Ask]:
    """The application in this process, asked as httpx.request is; an exception it does not answer is raised here."""
    engines, ledger = Engines(300 * 10**9, threads=1, room=room), Ledger(Limits(**limits))
    state = State(Names(models.choose(str(model))), engines, Workers(2), ledger)
    transport = httpx.ASGITransport(create_app(state, True, access, ragebar=ragebar, knowledge=knowledge))
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        yield lambda *arguments, **more: runner.run(client.request(*arguments, **more))
        state.close()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """A small seeded model that can be asked thousands of times, named tiny."""
    return seeded.tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="session")
def application(tiny) -> Iterator[Ask]:
    """An application in this process that serves `tiny`."""
    with inside(tiny) as ask:
        yield ask


@pytest.fixture(scope="session")
def applications() -> Callable[..., AbstractContextManager[Ask]]:
    """Starts an application of the test's own."""
    return inside


@dataclass
class Pair:
    """A certificate for 127.0.0.1 and localhost, its key, and the authority that clients must trust."""

    certificate: Path
    key: Path
    authority: Path


@pytest.fixture(scope="session")
def pair(tmp_path_factory) -> Pair:
    """Made for this run alone."""
    folder = tmp_path_factory.mktemp("tls")
    pair = Pair(folder / "server.pem", folder / "server.key", folder / "authority.pem")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    pair.certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(pair.key)
    authority.cert_pem.write_to_path(pair.authority)
    return pair


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for the tests of all pages."""
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def page(browser):
    """The browser without what earlier tests left in its logs."""
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    return browser
