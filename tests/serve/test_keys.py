"""Keys: who has none gets nothing that tells anything."""

import hmac
import subprocess

import httpx
import openai
import pytest

from bankml.errors import InputError
from bankml.serve.access import Access
from bankml.serve.app import ROUTES
from bankml.serve.keys import LARGEST_FILE, MISSING, OPEN, WRONG, Keys, read
from bankml.settings import Settings
from tests.serve.wire import BODY, refused, vector, watched

KEY, SECOND = "hunter2-of-the-test", "second.key"
BEARER = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module")
def locked(applications, tiny):
    """An application that asks for one of two keys."""
    with applications(tiny, access=Access(keys=(KEY, SECOND))) as ask:
        yield ask


CLOSED = sorted((method, route.path) for route in ROUTES if route.path not in OPEN for method in route.methods)


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_every_route_asks_for_it(locked, method, path):
    path = path.replace("{id:path}", "tiny")
    answer = locked(method, path, content=BODY)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert locked(method, path, content=BODY, headers=BEARER).status_code != 401


@pytest.mark.parametrize("path", ["/nonesuch", "/openapi.json", "/metrics", "/docs/", "/ui/x", "/api/chat"])
def test_what_is_not_open_is_closed(locked, path):
    assert locked("GET", path).status_code == 401


@pytest.mark.parametrize("path", sorted(OPEN))
def test_what_is_open(locked, path):
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        assert locked("GET", path, headers=headers).status_code != 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {KEY}"},
        {"Authorization": f"bearer {KEY}"},
        {"Authorization": f"BEARER   {KEY} "},
        {"Authorization": f"Bearer {SECOND}"},
        {"X-API-Key": KEY},
        {"x-api-key": f" {SECOND}"},
        {"Authorization": "Bearer ", "X-API-Key": KEY},
        {"Authorization": "Basic eDp5", "X-API-Key": KEY},
    ],
)
def test_a_key_opens(locked, headers):
    assert locked("POST", "/api/embed", content=BODY, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("", MISSING),
        ("Bearer", MISSING),
        ("Bearer ", MISSING),
        (KEY, MISSING),
        (f"Basic {KEY}", MISSING),
        (f"Bearer{KEY}", MISSING),
        ("Bearer wrong", WRONG),
        (f"Bearer {KEY[:-1]}", WRONG),
        (f"Bearer {KEY}x", WRONG),
        (f"Bearer {KEY.upper()}", WRONG),
        (f"Bearer {KEY} {KEY}", WRONG),
        (f"Bearer {KEY},{SECOND}", WRONG),
        ("Bearer \u00ff\u00e9".encode("latin-1"), WRONG),
    ],
)
def test_anything_else_does_not(locked, value, sentence):
    answer = locked("POST", "/api/embed", content=BODY, headers={"Authorization": value})
    assert (answer.status_code, answer.json()) == (401, {"error": sentence})


def test_the_refusal_has_the_shape_of_its_family(locked):
    error = {"message": MISSING, "type": "authentication_error", "param": None, "code": None}
    assert locked("POST", "/v1/embeddings", content=BODY).json() == {"error": error}


def test_a_web_page_asks_before_it_has_to_show_a_key(applications, tiny):
    page = {"Origin": "https://app.example"}
    asked = page | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with applications(tiny, access=Access(keys=(KEY,), origins=("https://app.example",))) as ask:
        answer = ask("OPTIONS", "/api/embed", headers=asked)
        assert (answer.status_code, answer.headers["access-control-allow-headers"]) == (200, "authorization")
        page |= {"Content-Type": "application/json"}
        refusal = ask("POST", "/api/embed", content=BODY, headers=page)
        assert (refusal.status_code, refusal.headers["access-control-allow-origin"]) == (401, "https://app.example")
        assert ask("POST", "/api/embed", content=BODY, headers=page | BEARER).status_code == 200


def test_an_empty_bearer_token_where_no_key_is_asked_for(application):
    for value in ("Bearer ", "Bearer", "Bearer anything"):
        assert application("POST", "/api/embed", content=BODY, headers={"Authorization": value}).status_code == 200


def test_a_key_of_the_environment(tiny):
    with watched(tiny, BANKML_API_KEY=KEY) as server:
        assert len(vector(server, headers=BEARER)) > 1
        with pytest.raises(openai.AuthenticationError, match=r"asks for a key|not one of"):
            openai.OpenAI(base_url=f"{server.url}/v1", api_key="x").embeddings.create(model="tiny", input="sky")
        good = openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY)
        assert good.embeddings.create(model="tiny", input="sky").data


def test_the_key_is_shown_nowhere(tiny, tmp_path):
    file = tmp_path / "keys"
    file.write_text(f"{SECOND}\n")
    fault = "from bankml.serve import own; own._info = None"  # a traceback through everything
    with watched(tiny, "--api-key-file", file, patch=fault, BANKML_API_KEY=KEY) as server:
        vector(server, headers=BEARER)
        told = httpx.get(f"{server.url}/info", headers=BEARER).text + httpx.get(f"{server.url}/info").text
        told += httpx.get(f"{server.url}/info", headers={"X-API-Key": SECOND}).text
        shown = subprocess.run(["ps", "-o", "args=", "-p", str(server.process.pid)], capture_output=True, text=True)
        assert server.end() == 0
        log = server.logged()
    assert "Traceback" in log or "TypeError" in log
    for secret in (KEY, SECOND):
        assert secret not in told + shown.stdout + log


def test_no_object_shows_it(tmp_path):
    assert KEY not in repr(Access(keys=(KEY,)))
    assert KEY not in repr(Settings.read({"BANKML_API_KEY": KEY}))


def test_a_file_of_keys(tmp_path):
    file = tmp_path / "keys"
    file.write_bytes(f"  {KEY}\t\r\n\n{SECOND}\n{KEY}".encode())
    assert read(None, file) == (KEY, SECOND)
    assert read("third", file) == ("third", KEY, SECOND)
    assert read("third", None) == ("third",)
    assert read(None, None) == ()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no key"),
        (b" \n\t\r\n", "holds no key"),
        (b"two words\n", "a space or a character"),
        (b"caf\xc3\xa9\n", "a space or a character"),
        (b"\xff\xfe\n", "a space or a character"),
        (b"a\0b\n", "a space or a character"),
        (b"x" * (LARGEST_FILE + 1), "more than 65,536 bytes"),
    ],
)
def test_a_file_that_is_none(tmp_path, data, words):
    file = tmp_path / "keys"
    file.write_bytes(data)
    with pytest.raises(InputError, match=words) as error:
        read(None, file)
    assert str(file) in str(error.value)
    for secret in ("two words", "caf", "xxx"):
        assert secret not in str(error.value).replace(str(file), "")


def test_the_server_does_not_start_with_it(tmp_path):
    assert refused(BANKML_API_KEY="two words")[1].startswith("BANKML_API_KEY holds a key with a space")
    status, sentence = refused("--api-key-file", tmp_path / "nothing")
    assert (status, str(tmp_path / "nothing") in sentence, "No such file" in sentence) == (1, True, True)
    status, sentence = refused("--api-key-file", tmp_path)
    assert (status, str(tmp_path) in sentence) == (1, True)


OTHERS = ["0.0.0.0", "::", "", "0"]


@pytest.mark.parametrize("host", OTHERS)
@pytest.mark.parametrize("more", [(), ("--tls",)])
def test_other_machines_need_a_key(tmp_path, host, more, pair):
    more = ("--tls-cert", pair.certificate, "--tls-key", pair.key) if more else ()
    status, sentence = refused("--host", host, *more)
    if "cannot be used" in sentence or "cannot be listened" in sentence:
        pytest.skip(sentence)  # no IPv6 here
    assert (status, sentence.count("\n")) == (2, 0)
    assert "BANKML_API_KEY" in sentence
    assert "--insecure" in sentence


@pytest.mark.parametrize("how", [{"BANKML_API_KEY": KEY}, {}])
def test_other_machines_with_a_key_or_whoever_can_reach_it(tiny, how):
    with watched(tiny, "--host", "0.0.0.0", *([] if how else ["--insecure"]), **how) as server:
        assert server.url.startswith("http://0.0.0.0:")
        assert len(vector(server, headers=BEARER | {"Host": "embeddings.example"})) > 1


def test_it_takes_as_long_to_be_wrong_at_the_first_letter(monkeypatch):
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda *pair: compared.append(pair) or pair[0] == pair[1])
    keys = Keys(None, [KEY, SECOND])
    assert keys._holds([KEY.encode(), b""])
    assert len(compared) == 4  # the first was right already
    assert {len(side) for pair in compared for side in pair} == {32}
