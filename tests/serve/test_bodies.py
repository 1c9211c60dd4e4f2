"""Bodies that are too large or malformed, on every route that takes one."""

import socket

import pytest

from bankml.serve.bodies import MAX_TEXTS

PATHS = ["/api/embed", "/api/embeddings", "/v1/embeddings", "/api/show", "/tokenize"]
MIB = 2**20


def sentence(answer) -> str:
    error = answer.json()["error"]
    return error if isinstance(error, str) else error["message"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "unexpected EOF"),
        (b'{"model": "all-minilm", "input": "a"', "unexpected EOF"),
        (b'{"input": NaN}', "invalid character 'N' looking for beginning of value"),
        (b"\xff\xfe", "invalid character 'ÿ' looking for beginning of value"),
        (b"\0", r"invalid character '\x00' looking for beginning of value"),
        (b'\xef\xbb\xbf{"model": "a"}', "invalid character 'ï' looking for beginning of value"),
        (b'{"model": "a"} trailing', "invalid character 't' after top-level value"),
        (b"model=a&input=b", "invalid character 'm' looking for beginning of value"),
    ],
)
def test_malformed_json(http, path, body, words):
    answer = http.post(path, content=body)
    assert (answer.status_code, sentence(answer)) == (400, words)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [b'{"input": 01}', b'{"input": "\\ud800", "x": NaN}', b'{"input": nil}'])
def test_malformed_json_in_our_own_words(http, path, body):
    answer = http.post(path, content=body)
    assert answer.status_code == 400
    assert sentence(answer).startswith("the request body is not valid JSON: ")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("start", [b"", b'{"x": ', b'{"input": ', b'{"\\ud800": ', b'{"options": {"x": '])
def test_json_nested_without_end(http, path, start):
    assert http.post(path, content=start + b"[" * 100_000).status_code == 400
    assert http.post(path, content=start + b'{"a":' * 100_000).status_code == 400


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"1"])
def test_json_that_is_no_object(http, path, body):
    answer = http.post(path, content=body)
    assert answer.status_code == 400
    assert "object" in sentence(answer)


@pytest.mark.parametrize("path", PATHS)
def test_seventeen_mib_are_too_large(http, path):
    answer = http.post(path, json={"model": "all-minilm", "input": "a" * (17 * MIB)})
    assert answer.status_code == 413
    assert "16 MiB" in sentence(answer)


def test_a_body_of_unknown_length_is_counted(http):
    def chunks():
        for _ in range(17):
            yield b" " * MIB

    assert http.post("/api/embed", content=chunks()).status_code == 413


def test_an_announced_size_is_not_believed_into_memory(server, http):
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(f"POST /api/embed HTTP/1.1\r\nHost: {host}\r\nContent-Length: {10**15}\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 413")
    assert http.get("/health").status_code == 200


def test_fifteen_mib_of_text_are_served(http):
    answer = http.post("/api/embed", json={"model": "all-minilm", "input": "word " * (3 * MIB)})
    assert answer.status_code == 200
    assert answer.json()["truncated"] == [0]


@pytest.mark.parametrize("path", ["/api/embed", "/v1/embeddings", "/tokenize"])
def test_too_many_texts_are_refused_with_the_limit(http, path):
    answer = http.post(path, json={"model": "all-minilm", "input": [""] * (MAX_TEXTS + 1)})
    assert answer.status_code == 400
    assert isinstance(answer.json()["error"], dict) == path.startswith("/v1/")
    assert sentence(answer) == "the request has 10,001 texts, above the limit of 10,000; send them in several requests"


def test_as_many_texts_as_are_allowed(http):
    assert http.get("/info").json()["max_texts"] == MAX_TEXTS
    answer = http.post("/v1/embeddings", json={"model": "all-minilm", "input": [""] * MAX_TEXTS, "dimensions": 1})
    assert len(answer.json()["data"]) == MAX_TEXTS
