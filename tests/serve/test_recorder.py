"""Around every request: an id on every answer, whoever gives it."""

import asyncio
import re

import httpx
import pytest
from starlette.routing import Route

from bankml.models import choose
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.visit import Visit
from bankml.serve.workers import Workers

MADE = re.compile("[0-9a-f]{16}")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/", {}),
        ("HEAD", "/api/version", {}),
        ("GET", "/nonesuch", {}),
        ("DELETE", "/api/embed", {}),
        ("POST", "/api/embed", {}),
        ("GET", "/", {"Host": "evil.example"}),
        ("POST", "/api/embed", {"Origin": "https://evil.example"}),
        ("OPTIONS", "/api/embed", {"Origin": "http://localhost", "Access-Control-Request-Method": "POST"}),
        ("GET", "/ui", {}),
    ],
)
def test_every_answer_has_an_id(application, method, path, headers):
    answer = application(method, path, headers=headers)
    assert MADE.fullmatch(answer.headers["x-request-id"])
    assert answer.headers["x-request-id"] != application(method, path, headers=headers).headers["x-request-id"]
    given = application(method, path, headers=headers | {"X-Request-Id": "a-Z_0.9" * 18})
    assert given.headers.get_list("x-request-id") == ["a-Z_0.9" * 18]


@pytest.mark.parametrize("given", ["", "a" * 129, "a b", "a/b", "a;b", b"\xff", "<script>"])
def test_an_id_that_could_be_more_than_one_is_not_taken(application, given):
    answer = application("GET", "/", headers={"X-Request-Id": given})
    assert MADE.fullmatch(answer.headers["x-request-id"])


def test_a_page_may_read_the_id(application):
    answer = application("GET", "/", headers={"Origin": "http://localhost"})
    assert "X-Request-Id" in answer.headers["access-control-expose-headers"]


def asked(tiny, path: str, *routes: Route, raises: bool = False) -> tuple[httpx.Response, Visit, State]:
    """The answer to one GET, what was written down of it, and the server's state."""
    visits: list[Visit] = []

    async def scene() -> tuple[httpx.Response, Visit, State]:
        state = State(Names(choose(str(tiny))), Engines(10**9, threads=1), Workers(1))
        app = create_app(state, True, log=visits.append)
        app.routes.extend(routes)
        transport = httpx.ASGITransport(app, raise_app_exceptions=raises)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.get(path)
        state.close()
        return answer, visits[0], state

    return asyncio.run(scene())


async def broken(request):
    raise ZeroDivisionError("a fault of the server")


def test_a_fault_of_the_server_is_counted_and_has_an_id(tiny):
    answer, visit, state = asked(tiny, "/broken", Route("/broken", broken))
    assert (answer.status_code, answer.json()) == (500, {"error": "a fault of the server"})
    assert answer.headers["x-request-id"] == visit.id
    assert state.metrics.failures() == {"internal": 1}
    with pytest.raises(ZeroDivisionError):  # and uvicorn tells of it on stderr
        asked(tiny, "/broken", Route("/broken", broken), raises=True)


def test_a_visit_knows_what_was_asked_and_answered(tiny):
    answer, visit, _ = asked(tiny, "/api/version?secret=1")
    assert (visit.method, visit.path, visit.status, visit.client) == ("GET", "/api/version", 200, "127.0.0.1")
    assert visit.sent == len(answer.content)
    assert 0 < visit.seconds < 10
    assert (visit.failure, visit.model) == (None, None)


def test_a_path_is_one_printable_word(tiny):
    _, visit, _ = asked(tiny, "/%0a%1b[31m%ff x" + "a" * 1000)
    assert re.fullmatch(r"/%0A%1B%5B31m%EF%BF%BD%20xa+", visit.path)
    assert len(visit.path) < 300
