"""Which pages may read answers."""

import pytest

from bankml.errors import InputError
from bankml.serve.access import Access
from bankml.serve.app import ROUTES
from bankml.serve.origins import checked
from tests.serve.wire import BODY, refused, vector, watched

PAGES = ["https://evil.example", "http://localhost:3000", "http://127.0.0.1", "file://", "app://x", "null"]
JSON = {"Content-Type": "application/json"}
ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
PATHS = sorted({route.path.replace("{id:path}", "tiny") for route in ROUTES} | {"/", "/nonesuch"})
ALLOWED = "access-control-allow-origin"


@pytest.mark.parametrize("page", PAGES)
def test_no_page_may_read_unless_it_was_named(application, page):
    for path in PATHS:
        for method in ("GET", "POST"):
            assert ALLOWED not in application(method, path, content=BODY, headers={"Origin": page} | JSON).headers
        answer = application("OPTIONS", path, headers={"Origin": page} | ASKS)
        assert (answer.status_code in (404, 405), ALLOWED in answer.headers) == (True, False)


@pytest.fixture(scope="module")
def open_to_two(applications, tiny):
    with applications(tiny, access=Access(origins=("https://app.example", "http://localhost:3000"))) as ask:
        yield ask


@pytest.mark.parametrize("page", ["https://app.example", "http://localhost:3000"])
def test_a_page_that_was_named(open_to_two, page):
    for path in PATHS:
        answer = open_to_two("OPTIONS", path, headers={"Origin": page} | ASKS)
        assert (answer.status_code, answer.headers[ALLOWED]) == (200, page)
    answer = open_to_two("POST", "/api/embed", content=BODY, headers={"Origin": page} | JSON)
    assert (answer.status_code, answer.headers[ALLOWED]) == (200, page)
    assert "X-Bankml-Truncated" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize(
    "page",
    [
        *PAGES[:1],
        "https://app.example.evil.example",
        "https://evil.example/https://app.example",
        "http://app.example",
        "https://app.example:8443",
        "http://localhost",
        "http://localhost:30000",
        "null",
        "*",
        "",
    ],
)
def test_a_page_that_was_not(open_to_two, page):
    assert ALLOWED not in open_to_two("POST", "/api/embed", content=BODY, headers={"Origin": page} | JSON).headers
    assert ALLOWED not in open_to_two("OPTIONS", "/api/embed", headers={"Origin": page} | ASKS).headers


def test_any_page(applications, tiny):
    with applications(tiny, access=Access(origins=("*",))) as ask:
        answer = ask("POST", "/api/embed", content=BODY, headers={"Origin": "https://any.example"} | JSON)
        assert (answer.status_code, answer.headers[ALLOWED]) == (200, "*")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
def test_a_page_that_was_named_must_send_json_too(open_to_two, kind):
    headers = {"Origin": "https://app.example"} | ({"Content-Type": kind} if kind else {})
    assert open_to_two("POST", "/api/embed", content=BODY, headers=headers).status_code == 415


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://App.Example/", "https://app.example"),
        ("http://localhost:80", "http://localhost"),
        ("https://x:443", "https://x"),
        ("http://x:443", "http://x:443"),
        ("vscode-webview://abc", "vscode-webview://abc"),
        (" * ", "*"),
    ],
)
def test_origins_as_browsers_write_them(given, origin):
    assert checked(given) == origin


@pytest.mark.parametrize(
    "given", ["", "null", "app.example", "https://", "https://a/b", "https://*.example", "a,b", "https://a b", "//a"]
)
def test_what_is_no_origin(given):
    with pytest.raises(InputError, match="is no origin; give one such as"):
        checked(given)


def test_the_option_may_be_given_twice(tiny):
    with watched(tiny, "--origin", "https://a.example", "--origin", "https://b.example") as server:
        for name in "ab":
            vector(server, headers={"Origin": f"https://{name}.example"} | JSON)


def test_a_wrong_one_is_told_at_the_start():
    status, sentence = refused("--origin", "app.example")
    assert (status, sentence.startswith("'app.example' is no origin")) == (1, True)
