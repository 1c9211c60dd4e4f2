"""What a web page must not be able to do to a server on loopback."""

import pytest

from bankml.serve.guard import is_local

BODY = b'{"model": "all-minilm", "input": "a"}'


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost",
        "LOCALHOST:18093",
        "127.0.0.1:1",
        "[::1]:18093",
        "::1",
        "10.0.0.7",
        "a.localhost",
        "host.docker.internal:1",
    ],
)
def test_local(host):
    assert is_local(host)


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1.example.com:80", "localhost.example.com", "[example]:1"])
def test_not_local(host):
    assert not is_local(host)


def test_a_rebound_name_is_forbidden(http):
    for path, method in (("/", "GET"), ("/api/embed", "POST"), ("/v1/embeddings", "POST")):
        answer = http.request(method, path, content=BODY, headers={"Host": "evil.example:18093"})
        assert answer.status_code == 403
        assert "evil.example" in str(answer.json()["error"])


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_form_post_of_a_page_is_refused(http, content_type):
    headers = {"Origin": "https://evil.example"} | ({"Content-Type": content_type} if content_type else {})
    answer = http.post("/api/embed", content=BODY, headers=headers)
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]


def test_programs_need_no_content_type(http):
    assert http.post("/api/embed", content=BODY).status_code == 200
    assert http.post("/api/embed", content=BODY, headers={"Content-Type": "text/plain"}).status_code == 200
