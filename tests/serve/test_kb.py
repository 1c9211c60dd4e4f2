"""The routes of a knowledge base, who may ask them, and what they say when something is wrong."""

import json
import os
import shutil
from collections.abc import Iterator

import httpx
import jsonschema
import pytest

from bankml.errors import StoreError
from bankml.serve.access import Access
from bankml.serve.knowledge import Knowledge
from bankml.serve.schemas import SCHEMAS
from bankml.store import Store
from bankml.store import connection as sqlite
from tests.serve.bases import SKY, no_model, put, write

POSTS = {"/kb/search": {"query": "sky"}, "/kb/source": {"id": 1}}
KEY = {"Authorization": "Bearer open-sesame"}


@pytest.fixture
def knowledge(tmp_path) -> Iterator[Knowledge]:
    """Of three files, by words alone."""
    found = Knowledge(write(tmp_path), no_model)
    yield found
    found.close()


@pytest.fixture
def ask(knowledge, tiny, applications):
    with applications(tiny, knowledge=knowledge) as ask:
        yield ask


def search(ask, **body) -> dict:
    """A good answer, as described."""
    answer = ask("POST", "/kb/search", json=body)
    assert answer.status_code == 200, answer.text
    jsonschema.validate(answer.json(), SCHEMAS["KnowledgeFound"])
    return answer.json()


def names(found: dict) -> list[str]:
    return [os.path.basename(hit["path"]) for hit in found["results"]]


def test_passages_are_found_with_where_they_stand(ask, tmp_path):
    found = search(ask, query="the blue sky")
    assert names(found)[0] == "sky.md"
    hit = found["results"][0]
    assert (hit["path"], hit["heading"], hit["line"], hit["type"]) == (str(tmp_path / "sky.md"), "Sky", 3, "markdown")
    assert [hit["text"][a:b] for a, b in hit["marks"]] == ["the", "sky", "blue"]
    assert (hit["words_rank"], hit["meaning_rank"], hit["cosine"]) == (1, None, None)
    assert "no model is here" in found["status"]
    assert found["types"] == ["markdown", "text"]


def test_filters_modes_and_counts(ask):
    assert set(names(search(ask, query="the"))) == {"sky.md", "sea.md", "ternary.txt"}
    assert names(search(ask, query="the", path="fast/*")) == ["ternary.txt"]
    assert set(names(search(ask, query="the", path=["s*.md", "nothing"]))) == {"sky.md", "sea.md"}
    assert names(search(ask, query="the", type="text")) == ["ternary.txt"]
    assert names(search(ask, query="the", after="2020-01-01")) == []
    assert len(search(ask, query="the", n=1.0)["results"]) == 1
    assert names(search(ask, query="sea", mode="words"))[0] == "sea.md"
    assert names(search(ask, query=" ")) == []
    document = search(ask, query="sea", mode="words")["results"][0]["document"]
    assert set(names(search(ask, query="the", document=document))) == {"sea.md"}


def test_meaning_alone_without_a_model_is_refused_with_what_to_do(ask):
    answer = ask("POST", "/kb/search", json={"query": "sea", "mode": "meaning"})
    assert (answer.status_code, answer.json()["error"]) == (503, "no model is here; run `bankml init`")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"query": "a", "n": 0}, "n is 0"),
        ({"query": "a", "n": 101}, "n is 101"),
        ({"query": "a", "n": 1.5}, "n is 1.5"),
        ({"query": "a" * 4001}, "4,001 characters"),
        ({"query": "a", "mode": "best"}, "best"),
        ({"query": "a", "after": "yesterday"}, "yesterday"),
        ({"query": "a", "wait": -1}, "wait is -1"),
        ({"query": "a", "wait": 1e9}, "wait is 1e"),
        ({"query": "a", "path": ["*"] * 101}, "101"),
        ({"query": 5}, "query"),
        ({"query": "a", "paths": ["*.md"]}, "paths"),
        ({"query": "a", "document": 1.5}, "document is 1.5"),
        ({"query": "a", "path": ""}, "path is ''"),
    ],
)
def test_what_cannot_be_asked_is_told(ask, body, words):
    answer = ask("POST", "/kb/search", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@pytest.mark.parametrize("query", ["\ud800", "\x00\x1b[31m", "😀", "\"'*()-NEAR AND OR NOT", "\u202e", "a b " * 1000])
def test_hostile_queries_are_answered(ask, query):
    answer = ask("POST", "/kb/search", content=json.dumps({"query": query, "path": query, "type": query}))
    assert answer.status_code == 200
    jsonschema.validate(answer.json(), SCHEMAS["KnowledgeFound"])


def test_what_is_shown_already_is_not_sent_again(ask, knowledge):
    first = search(ask, query="sky")
    assert search(ask, query="sky", shown=first["version"]) == {"version": first["version"], "pending": False}
    with Store.open(knowledge.path) as store:
        put(store, b"new", "one more sky\n")
    assert len(search(ask, query="sky", shown=first["version"])["results"]) == len(first["results"]) + 1


def source(ask, **body) -> dict:
    answer = ask("POST", "/kb/source", json=body)
    assert answer.status_code == 200, answer.text
    jsonschema.validate(answer.json(), SCHEMAS["KnowledgeSource"])
    return answer.json()


def test_a_source_is_opened_at_its_passage(ask, tmp_path):
    hit = search(ask, query="blue sky")["results"][0]
    found = source(ask, id=hit["id"], query="blue sky")
    assert (found["text"], found["first_line"], found["note"], found["cut"]) == (SKY["sky.md"], 1, "", False)
    assert found["text"][slice(*found["passage"])] == hit["text"]
    assert {found["text"][a:b] for a, b in found["marks"]} == {"Sky", "sky", "blue"}
    (tmp_path / "sky.md").write_text("another secret")
    changed = source(ask, id=hit["id"], query="blue sky")
    assert "changed" in changed["note"]
    assert "secret" not in changed["text"]
    assert changed["text"][slice(*changed["passage"])] == hit["text"]


@pytest.mark.parametrize("id", [0, -1, 99, 2**62, 2**70])
def test_a_source_that_is_not_there(ask, id):
    answer = ask("POST", "/kb/source", json={"id": id})
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]


@pytest.mark.parametrize("id", ["sky.md", "/etc/passwd", None, [1], {"path": "/etc/passwd"}])
def test_a_source_is_never_named_by_a_path(ask, id):
    assert ask("POST", "/kb/source", json={"id": id, "path": "/etc/passwd"}).status_code == 400


def test_a_store_that_vanishes_and_is_replaced(ask, knowledge, tmp_path):
    assert names(search(ask, query="sea"))[0] == "sea.md"
    away = tmp_path / "away"
    away.mkdir()
    for file in tmp_path.glob("kb.db*"):
        file.rename(away / file.name)
    for method, path, body in (("POST", "/kb/search", {"query": "sea"}), ("GET", "/kb/status", None)):
        answer = ask(method, path, json=body)
        assert answer.status_code == 503
        assert "bankml init" in answer.json()["error"]
        assert answer.headers["retry-after"]
    other = tmp_path / "other"
    other.mkdir()
    shutil.move(write(other, {"moon.md": "# Moon\n\nThe moon above the sea.\n"}), knowledge.path)
    assert names(search(ask, query="sea")) == ["moon.md"]


IN_FLIGHT = [
    ("POST", "/kb/search", {"query": "moon"}, lambda found: names(found) == ["moon.md"]),
    ("POST", "/kb/source", {"id": 1}, lambda found: "The moon" in found["text"]),
    ("POST", "/kb/add", {"documents": [{"name": "a", "text": "b"}]}, lambda found: found["added"] == 1),
    ("GET", "/kb/status", None, lambda found: found["documents"] == 1),
]


@pytest.mark.parametrize(("method", "path", "body", "is_of_the_new"), IN_FLIGHT, ids=lambda one: str(one)[:10])
def test_what_is_in_flight_while_the_store_is_replaced_is_answered_by_the_new_one(
    ask, knowledge, tmp_path, monkeypatch, method, path, body, is_of_the_new
):
    (tmp_path / "other").mkdir()
    other = write(tmp_path / "other", {"moon.md": "# Moon\n\nThe moon above the sea.\n"})
    now = knowledge.followed.opened

    def overtaken():
        """The store, of which another request finds that it is replaced before this one has begun."""
        monkeypatch.setattr(knowledge.followed, "opened", now)
        found = now()
        os.replace(other, knowledge.path)
        now()
        return found

    monkeypatch.setattr(knowledge.followed, "opened", overtaken)
    answer = ask(method, path, json=body)
    assert answer.status_code == 200, answer.text
    assert is_of_the_new(answer.json())


def test_what_fails_in_the_store_that_is_there_is_not_tried_again(ask, knowledge, monkeypatch):
    tried = []

    def search(*asked, **how):
        tried.append(asked)
        raise StoreError("others write")

    monkeypatch.setattr(knowledge.opened().searcher, "search", search)
    assert ask("POST", "/kb/search", json={"query": "sky"}).status_code == 503
    assert len(tried) == 1


def test_another_programs_database_in_its_place(ask, knowledge):
    knowledge.path.unlink()
    knowledge.path.write_bytes(b"not a database" * 1000)
    answer = ask("POST", "/kb/search", json={"query": "sea"})
    assert answer.status_code == 503
    assert "no knowledge base" in answer.json()["error"]


def everything(ask, **more) -> set[int]:
    """What each address says, but for /kb/add."""
    posts = [ask("POST", path, json=body, **more).status_code for path, body in POSTS.items()]
    return {*posts, ask("GET", "/kb/status", **more).status_code}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example"])
def test_a_foreign_host_is_refused(ask, host):
    assert everything(ask, headers={"Host": host}) == {403}


def test_a_page_of_another_site_cannot_ask(ask):
    """Neither by a form, nor by a question that the browser asks first, nor by a GET, which an image may send."""
    origin = {"Origin": "http://evil.example"}
    for path in ("/kb/search", "/kb/source", "/kb/add"):
        form = ask("POST", path, content='{"query": "sky"}', headers={**origin, "Content-Type": "text/plain"})
        assert form.status_code == 415
        first = ask("OPTIONS", path, headers={**origin, "Access-Control-Request-Method": "POST"})
        assert "access-control-allow-origin" not in first.headers
        assert ask("GET", path, params={"query": "sky"}).status_code == 405


SITES = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"},
    {"Origin": "http://evil.example"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
)


@pytest.mark.parametrize("headers", SITES)
def test_a_page_of_another_site_is_forbidden_whatever_it_sends(ask, knowledge, tiny, applications, headers):
    kind = "application/json" if "Origin" in headers else "text/plain"
    headers = headers | {"Content-Type": kind}
    for path, body in {**POSTS, "/kb/add": {"documents": [MOON]}}.items():
        answer = ask("POST", path, content=json.dumps(body), headers=headers)
        assert (answer.status_code, "may not ask" in answer.json()["error"]) == (403, True)
    assert names(search(ask, query="moon")) == []
    if "Origin" in headers and headers["Origin"] != "null":
        with applications(tiny, access=Access(origins=(headers["Origin"],)), knowledge=knowledge) as allowed:
            assert allowed("POST", "/kb/search", json={"query": "sky"}, headers=headers).status_code == 200


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://localhost"}])
def test_the_servers_own_page_may_ask(ask, headers):
    assert ask("POST", "/kb/add", json={"documents": [MOON]}, headers=headers).status_code == 200


def test_with_keys_a_key_or_the_browser_of_the_link_may_ask(knowledge, tiny, applications):
    with applications(tiny, access=Access(keys=("open-sesame",)), knowledge=knowledge) as ask:
        assert everything(ask) == {401}
        assert everything(ask, headers=KEY) == {200}
        answer = ask("GET", f"/ui?token={knowledge.session.token}")
        assert answer.headers["location"].startswith("/ui#knowledge=")
        assert "path=/kb/" in answer.headers["set-cookie"].lower()
        proof = {"X-Bankml-Proof": answer.headers["location"].partition("=")[2]}
        assert everything(ask, headers=proof) == {200}
        assert everything(ask) == {401}  # the cookie alone
        assert ask("GET", "/stats", headers=proof).status_code == 401


def test_without_keys_every_program_may_ask_and_there_is_no_link(ask, knowledge):
    assert everything(ask) == {200}
    answer = ask("GET", f"/ui?token={knowledge.session.token}")
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers


def test_a_server_tells_these_addresses_only_where_they_are(ask, application):
    paths = ask("GET", "/openapi.json").json()["paths"]
    assert {path for path in paths if path.startswith("/kb")} == {*POSTS, "/kb/add", "/kb/status"}
    assert not any(path.startswith("/kb") for path in application("GET", "/openapi.json").json()["paths"])
    assert application("GET", "/kb/status").status_code == 404


def test_a_python_client(ask, tmp_path):
    """As the documentation has it."""
    assert isinstance(ask("POST", "/kb/search", json={"query": "why is the sky blue", "n": 3}), httpx.Response)


def add(ask, *documents: dict, status: int = 200) -> dict:
    """What is answered to these."""
    answer = ask("POST", "/kb/add", json={"documents": list(documents)})
    assert answer.status_code == status, answer.text
    if status == 200:
        jsonschema.validate(answer.json(), SCHEMAS["KnowledgeAdded"])
    return answer.json()


MOON = {"name": "moon.md", "text": "# Moon\n\nThe moon is grey.\n"}


def test_texts_are_added_changed_and_found(ask):
    added = add(ask, MOON, {"name": "a note", "text": "A note about tides."})
    assert (added["added"], added["updated"], added["chunks"], added["failed"]) == (2, 0, 2, [])
    assert added["finished"]
    assert add(ask, MOON)["unchanged"] == 1
    hit = search(ask, query="moon")["results"][0]
    assert (hit["path"], hit["type"], hit["heading"], hit["line"]) == ("moon.md", "markdown", "Moon", 1)
    assert source(ask, id=hit["id"])["text"] == "# Moon\n\nThe moon is grey."
    assert add(ask, MOON | {"text": "# Moon\n\nThe moon is far.\n"})["updated"] == 1
    assert names(search(ask, query="grey")) == []
    assert names(search(ask, query="tides")) == ["a note"]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "/etc/passwd",
        "//x",
        "a\0b",
        "a\nb",
        "x" * 1001,
        "a\u202etxt.exe",
        "\x9b",
        "../a",
        "a/../b",
        "..",
        "a\\..",
    ],
)
def test_a_name_that_will_not_do(ask, name):
    """Nothing of the whole request is added."""
    answer = add(ask, MOON, {"name": name, "text": "secret"}, status=400)
    assert "the name of document 1" in answer["error"]
    assert answer["index"] == 1
    assert names(search(ask, query="moon")) == []


@pytest.mark.parametrize(
    "name", ["~/.ssh/id_rsa", "C:\\secret", "file:///etc/passwd", "-", "kb.db", "a..b", "...", "..a/b.."]
)
def test_a_name_is_never_a_path(ask, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    add(ask, {"name": name, "text": "what was sent"})
    hit = search(ask, query="sent")["results"][0]
    assert (hit["path"], source(ask, id=hit["id"])["text"]) == (name, "what was sent")


@pytest.mark.parametrize("text", ["%PDF-1.4 sent as text", "PK\x03\x04 sent as text", "\xd0\xcf\x11\xe0 sent as text"])
@pytest.mark.parametrize("name", ["a", "a.pdf", "a.docx", "a.md"])
def test_what_looks_like_a_pdf_is_text(ask, name, text):
    assert add(ask, {"name": name, "text": text})["added"] == 1
    assert source(ask, id=search(ask, query="sent")["results"][0]["id"])["text"] == text


def test_a_type_may_be_said(ask):
    html = {"name": "page", "text": "<p>one <b>two</b> <script>three</script>", "type": "html"}
    assert add(ask, html)["added"] == 1
    assert search(ask, query="two", type="html")["results"][0]["text"] == "one two"
    assert add(ask, html | {"type": "text"})["updated"] == 1  # the same bytes, read in another way
    assert "<b>" in search(ask, query="two", type="text", path="page")["results"][0]["text"]
    assert "pdf" in add(ask, html | {"type": "pdf"}, status=400)["error"]


@pytest.mark.parametrize(
    "body",
    [{}, {"documents": []}, {"documents": "a"}, {"documents": [1]}, {"documents": [{"name": "a"}]}, {"path": "a"}],
)
def test_what_is_no_list_of_documents(ask, body):
    answer = ask("POST", "/kb/add", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_hostile_texts_are_kept(ask):
    for number, text in enumerate(
        ["\ud800 lone", "a\0b", "\x1b[31mred", "Z" + "\u0301" * 3000, "", " \n ", "w" * 10**6]
    ):
        answer = ask("POST", "/kb/add", content=json.dumps({"documents": [{"name": str(number), "text": text}]}))
        assert answer.status_code == 200, answer.text
    search(ask, query="lone red w")


def test_bodies_are_bounded(ask):
    assert ask("POST", "/kb/add", content=b"x" * (16 * 2**20 + 1)).status_code == 413
    many = {"documents": [{"name": "a", "text": ""}] * 10_001}
    assert "10,001" in ask("POST", "/kb/add", json=many).json()["error"]
    assert ask("POST", "/kb/add", content=b"x", headers={"Content-Encoding": "gzip"}).status_code == 415


def test_a_disk_that_is_full(ask, knowledge, monkeypatch):
    """SQLite's own limit stands for the disk's: what was there stays, and is searched."""
    whole = sqlite.connect

    def full(*arguments):
        db = whole(*arguments)
        db.execute("PRAGMA max_page_count = 1")
        return db

    monkeypatch.setattr("bankml.store.store.connect", full)
    knowledge.opened().store._pool._idle.clear()
    answer = ask("POST", "/kb/add", json={"documents": [{"name": "big", "text": "some words " * 50_000}]})
    assert answer.status_code == 507
    assert "no more room" in answer.json()["error"]
    assert names(search(ask, query="blue sky"))[0] == "sky.md"


def test_a_store_that_others_write_to(ask, knowledge, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0.1)
    knowledge.opened().store._pool._idle.clear()
    with Store.open(knowledge.path) as other, other.writing():
        answer = ask("POST", "/kb/add", json={"documents": [MOON]})
        assert answer.status_code == 503
        assert "another process" in answer.json()["error"]
        assert answer.headers["retry-after"]
    assert add(ask, MOON)["added"] == 1
