"""The routes of a history, and who may ask them."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import jsonschema
import pytest

from bankml.serve import history_server
from bankml.serve.access import Access
from bankml.serve.ragebar import Ragebar
from bankml.serve.schemas import SCHEMAS
from tests.serve.histories import SKY, ragebar, write

POSTS = {"/history/search": {"query": "sky"}, "/history/exchange": {"id": 0}}


@pytest.fixture
def bar(tmp_path) -> Iterator[Ragebar]:
    found = ragebar(write(tmp_path / "sky.history", SKY))
    yield found
    found.close()


class Browser:
    """Asks as one browser does: it keeps cookies, and what the page stores of the link it followed."""

    def __init__(self, ask) -> None:
        self._ask, self._proof = ask, {}

    def __call__(self, *arguments, headers=None, **more) -> httpx.Response:
        return self._ask(*arguments, headers=self._proof | (headers or {}), **more)

    def enter(self, bar: Ragebar) -> httpx.Response:
        answer = self("GET", f"/ui?token={bar.session.token}")
        self._proof = {"X-Bankml-Proof": answer.headers["location"].partition("=")[2]}
        return answer


@contextmanager
def asking(bar: Ragebar) -> Iterator[Browser]:
    """The page's application in this process, asked by a browser."""
    transport = httpx.ASGITransport(history_server.create_app(bar))
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8001")
        yield Browser(lambda *arguments, **rest: runner.run(client.request(*arguments, **rest)))
        runner.run(client.aclose())


@pytest.fixture
def ask(bar):
    """A browser that has opened the link."""
    with asking(bar) as ask:
        ask.enter(bar)
        yield ask


def everything(ask) -> list[int]:
    """What each address of the history says."""
    return [
        *(ask("POST", path, json=body).status_code for path, body in POSTS.items()),
        ask("GET", "/history/status").status_code,
    ]


def test_the_link_opens_for_one_browser_once(bar):
    with asking(bar) as first, asking(bar) as second:
        assert everything(first) == [403] * 3
        answer = first.enter(bar)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/ui#history=")
        name, *flags = (part.strip().lower() for part in answer.headers["set-cookie"].split(";"))
        assert name.startswith("bankml-8001=")
        assert sorted(flags) == ["httponly", "path=/history/", "samesite=strict"]
        assert (answer.headers["referrer-policy"], answer.headers["cache-control"]) == ("no-referrer", "no-store")
        assert everything(first) == [200] * 3
        again = second.enter(bar)
        assert (again.status_code, again.headers["location"]) == (303, "/ui#history")
        assert "set-cookie" not in again.headers
        assert everything(second) == [403] * 3
        assert "start the server again" in second("GET", "/history/status").json()["error"]
        assert everything(first) == [200] * 3


def test_a_guess_opens_nothing_and_uses_up_nothing(bar):
    with asking(bar) as ask:
        for guess in ("", "x", bar.session.token[:-1], bar.session.token + "x"):
            assert "set-cookie" not in ask("GET", "/ui", params={"token": guess}).headers
        ask("HEAD", f"/ui?token={bar.session.token}")  # as what shows previews of links does
        assert everything(ask) == [403] * 3
        assert "set-cookie" in ask.enter(bar).headers


def test_neither_the_cookie_nor_the_proof_is_enough(bar):
    """Other servers of this host are sent the cookie too, and who reads what the page stores has no cookie."""
    with asking(bar) as ask, asking(bar) as other:
        answer = ask.enter(bar)
        cookie, proof = answer.headers["set-cookie"].partition(";")[0], answer.headers["location"].partition("=")[2]
        for headers in (
            {"Cookie": cookie},
            {"X-Bankml-Proof": proof},
            {"Cookie": cookie, "X-Bankml-Proof": bar.session.token},
            {"Cookie": f"bankml-8001={proof}", "X-Bankml-Proof": proof},
            {"Cookie": f"bankml-8001={bar.session.token}", "X-Bankml-Proof": proof},
        ):
            assert other("GET", "/history/status", headers=headers).status_code == 403
        assert other("GET", "/history/status", headers={"Cookie": cookie, "X-Bankml-Proof": proof}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8001", "127.0.0.1.evil.example"])
def test_a_foreign_host_is_refused_even_with_the_pass(ask, host):
    assert ask("GET", "/history/status", headers={"Host": host}).status_code == 403
    assert ask("GET", "/ui", headers={"Host": host}).status_code == 403


def test_a_page_that_posts_a_form_is_refused_even_with_the_pass(ask):
    headers = {"Origin": "http://127.0.0.1:9", "Content-Type": "text/plain"}
    answer = ask("POST", "/history/search", content='{"query": "sky"}', headers=headers)
    assert answer.status_code == 415
    answer = ask(
        "OPTIONS", "/history/search", headers={"Origin": "http://127.0.0.1:9", "Access-Control-Request-Method": "POST"}
    )
    assert "access-control-allow-origin" not in answer.headers


def test_what_is_found_is_as_described(ask):
    found = ask("POST", "/history/search", json={"query": "sky"}).json()
    jsonschema.validate(found, SCHEMAS["HistoryFound"])
    assert (found["file"], found["pending"]) == ("sky.history", False)
    assert [hit["id"] for hit in found["results"]] == [0]
    hit = found["results"][0]
    assert (hit["user"], hit["user_marks"], hit["assistant_marks"]) == ("Why is the sky blue?", [[11, 14]], [])
    assert (hit["words_rank"], hit["meaning_rank"], hit["cosine"]) == (1, None, None)
    assert "no model is here" in found["status"]


def test_no_query_finds_the_latest(ask):
    found = ask("POST", "/history/search", json={"query": " ", "k": 2}).json()
    jsonschema.validate(found, SCHEMAS["HistoryFound"])
    assert [hit["id"] for hit in found["results"]] == [2, 1]


def test_an_exchange_is_whole(bar, ask):
    long = "before " * 1000 + "needle" + " after" * 100_000
    write(bar.path, [("long", long)], "a")
    hit = ask("POST", "/history/search", json={"query": "needle"}).json()["results"][0]
    assert hit["cut"]
    assert len(hit["assistant"]) < 500
    assert "needle" in hit["assistant"]
    whole = ask("POST", "/history/exchange", json={"id": hit["id"], "query": "needle"}).json()
    jsonschema.validate(whole, SCHEMAS["HistoryExchange"])
    assert (whole["assistant"], whole["cut"]) == (long, False)
    assert whole["assistant_marks"] == [[7000, 7006]]


@pytest.mark.parametrize("id", [-1, 3, 2**70])
def test_an_exchange_that_is_not_there(ask, id):
    answer = ask("POST", "/history/exchange", json={"id": id})
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]


@pytest.mark.parametrize("k", [0, -1, 101, 10**9])
def test_an_absurd_number_of_results(ask, k):
    answer = ask("POST", "/history/search", json={"query": "sky", "k": k})
    assert answer.status_code == 400
    assert str(k) in answer.json()["error"]


@pytest.mark.parametrize(
    "query", ["\ud800", "\x00\x1b[31m", "😀", "a" * 4_000, "\U0001d518" * 4_000, "\u202e", "a b " * 1000]
)
def test_hostile_queries_are_answered(ask, query):
    answer = ask("POST", "/history/search", content=json.dumps({"query": query}))
    assert answer.status_code == 200
    jsonschema.validate(answer.json(), SCHEMAS["HistoryFound"])


@pytest.mark.parametrize("path", POSTS)
def test_a_query_that_is_too_long_is_refused_by_a_sentence(ask, path):
    answer = ask("POST", path, json=POSTS[path] | {"query": "a b " * 5000})
    assert answer.status_code == 400
    assert answer.json() == {"error": "the query has 20,000 characters; shorten it to 4,000"}


def test_what_is_shown_already_is_not_sent_again(bar, ask):
    first = ask("POST", "/history/search", json={"query": "sky"}).json()
    body = {"query": "sky", "shown": first["version"]}
    again = ask("POST", "/history/search", json=body).json()
    jsonschema.validate(again, SCHEMAS["HistoryFound"])
    assert again == {"version": first["version"], "pending": False}
    write(bar.path, [("the sky", "again")], "a")
    assert len(ask("POST", "/history/search", json=body).json()["results"]) == 2


def test_the_status(bar, ask):
    with bar.path.open("a") as file:
        file.write("no exchange\n")
    found = ask("GET", "/history/status").json()
    jsonschema.validate(found, SCHEMAS["HistoryStatus"])
    assert found == {"file": "sky.history", "total": 3, "embedded": 0, "skipped_lines": 1, "indexing": False}


def test_a_history_that_grows_vanishes_and_comes_back(bar, ask):
    def ids(query: str) -> list[int]:
        return [hit["id"] for hit in ask("POST", "/history/search", json={"query": query}).json()["results"]]

    assert ids("penguin") == []
    write(bar.path, [("penguin", "a bird")], "a")
    assert ids("penguin") == [3]
    away = bar.path.with_name("away")
    bar.path.rename(away)
    answer = ask("POST", "/history/search", json={"query": "penguin"})
    assert answer.status_code == 503
    assert str(bar.path) in answer.json()["error"]
    assert ask("GET", "/history/status").status_code == 503
    away.rename(bar.path)
    assert ids("penguin") == [3]


def test_a_search_that_takes_long_holds_up_nobody_else(bar):
    """Searches wait, two at a time, for whoever holds the history; the page and other addresses are answered."""

    async def scene() -> list[int]:
        transport = httpx.ASGITransport(history_server.create_app(bar))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8001") as client:
            link = await client.get(f"/ui?token={bar.session.token}")
            client.headers["X-Bankml-Proof"] = link.headers["location"].partition("=")[2]
            with bar.searcher._lock:
                waiting = [asyncio.create_task(client.post("/history/search", json={"query": "sky"})) for _ in range(9)]
                page = await asyncio.wait_for(client.get("/ui"), 10)
                assert not any(task.done() for task in waiting)
            answers = await asyncio.gather(*waiting)
        return [page.status_code, *(answer.status_code for answer in answers)]

    assert asyncio.run(scene()) == [200] * 10


class Counted(Ragebar):
    """Counts the searches that were begun."""

    begun = 0

    def search(self, *asked):
        self.begun += 1
        return super().search(*asked)


def test_what_nobody_waits_for_any_more_is_not_searched(tmp_path):
    """Twenty letters typed while a search takes long: those at work are finished, the others never begun."""
    made = ragebar(write(tmp_path / "sky.history", SKY))
    bar = Counted(made.path, made.searcher)

    async def scene() -> int:
        transport = httpx.ASGITransport(history_server.create_app(bar))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8001") as client:
            link = await client.get(f"/ui?token={bar.session.token}")
            client.headers["X-Bankml-Proof"] = link.headers["location"].partition("=")[2]

            def asked() -> asyncio.Task:
                return asyncio.create_task(client.post("/history/search", json={"query": "sky"}))

            with bar.searcher._lock:
                left = [asked() for _ in range(20)]
                while bar.begun < 2:
                    await asyncio.sleep(0.01)
                for task in left:
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)
            return (await asked()).status_code

    assert asyncio.run(scene()) == 200
    assert bar.begun == 3
    bar.close()


@pytest.fixture
def both(tmp_path, tiny, applications):
    """A whole server with a history and a key."""
    bar = ragebar(write(tmp_path / "sky.history", SKY))
    with applications(tiny, access=Access(keys=("open-sesame",)), ragebar=bar) as ask:
        yield bar, ask
    bar.close()


def test_with_keys_either_a_key_or_the_link_opens_the_history(both):
    bar, application = both
    ask = Browser(application)
    assert everything(ask) == [401] * 3
    assert ask("GET", "/history/status", headers={"Authorization": "Bearer open-sesame"}).status_code == 200
    assert ask("GET", "/history/status", headers={"Authorization": f"Bearer {bar.session.token}"}).status_code == 401
    ask.enter(bar)
    assert everything(ask) == [200] * 3
    assert ask("GET", "/stats").status_code == 401
    assert ask("POST", "/api/embed", json={"model": "tiny", "input": "a"}).status_code == 401


def test_a_server_tells_its_addresses_with_a_history(both, application):
    _, ask = both
    paths = ask("GET", "/openapi.json", headers={"X-API-Key": "open-sesame"}).json()["paths"]
    assert paths["/history/search"]["post"]["requestBody"]["content"]["application/json"]["example"] == {
        "query": "why is the sky blue?",
        "k": 8,
    }
    assert {path for path in paths if path.startswith("/history")} == {*POSTS, "/history/status"}
    without = application("GET", "/openapi.json").json()["paths"]
    assert not any(path.startswith("/history") for path in without)
    assert application("GET", "/history/status").status_code == 404


def test_the_page_has_the_tabs_of_what_is_served(both, application, ask):
    def tabs(answer) -> list[str]:
        return [tab for tab in ("server", "history") if f'id="tab-{tab}"' in answer.text]

    assert tabs(both[1]("GET", "/ui")) == ["server", "history"]
    assert tabs(application("GET", "/ui")) == ["server"]
    assert tabs(ask("GET", "/ui")) == ["history"]
    assert ask("GET", "/").headers["location"] == "/ui"
    assert ask("GET", "/stats").status_code == 404
