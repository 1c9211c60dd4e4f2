"""/v1/embeddings and /v1/models, on the wire."""

import base64
import socket

import numpy as np
import pytest

TEXTS = ["why is the sky blue?", "", "Der Himmel ist blau.", "天空是蓝色的。", "one two three"]
LONG = "the quick brown fox jumps over the lazy dog " * 200


def refused(http, **body) -> tuple[int, dict]:
    answer = http.post("/v1/embeddings", json={"model": "all-minilm"} | body)
    return answer.status_code, answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "invalid input"),
        ({"input": None}, "invalid input"),
        ({"input": []}, "invalid input"),
        ({"input": ["a", None]}, "invalid input type"),
        ({"input": [True]}, "invalid input type"),
        ({"input": ["a", 1]}, "invalid input type"),
        ({"input": 1}, "invalid input type"),
        ({"input": {}}, "invalid input type"),
        ({"input": [[]]}, "invalid input type"),
        (
            {"input": "a", "encoding_format": "int8"},
            "Invalid value for 'encoding_format' = int8. Supported values: ['float', 'base64'].",
        ),
        ({"input": "a", "model": ""}, "model is required"),
    ],
)
def test_refusals(http, body, message):
    status, error = refused(http, **body)
    assert status == 400
    expected = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    assert {name: value for name, value in error.items() if name != "index"} == expected


@pytest.mark.parametrize(
    ("texts", "index"), [(["a", None], 1), ([[1, 2], [3]], 0), ([1, 2], 0), (["a", "b", [1]], 2), (1, None)]
)
def test_a_refusal_names_the_input(http, texts, index):
    assert refused(http, input=texts)[1].get("index") == index


def test_a_body_that_is_no_json(http):
    answer = http.post("/v1/embeddings", content=b"{")
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("encoding_format", ["base64", "BASE64", "Base64"])
def test_encoding_format_in_any_case(http, encoder, encoding_format):
    body = {"model": "all-minilm", "input": TEXTS[:1], "encoding_format": encoding_format}
    data = http.post("/v1/embeddings", json=body).json()["data"]
    assert base64.b64decode(data[0]["embedding"]) == encoder.encode(TEXTS[:1]).astype("<f4").tobytes()


def test_float_is_the_default_on_the_wire(http, encoder):
    for encoding_format in ({}, {"encoding_format": None}, {"encoding_format": "FLOAT"}):
        body = {"model": "all-minilm", "input": ""} | encoding_format
        data = http.post("/v1/embeddings", json=body).json()["data"]
        assert np.array(data[0]["embedding"], np.float32).tobytes() == encoder.encode([""]).tobytes()


def test_truncation_is_counted_in_the_header(http):
    answer = http.post("/v1/embeddings", json={"model": "all-minilm", "input": [LONG, "short", LONG]})
    assert answer.headers["X-Bankml-Truncated"] == "2"
    assert answer.json()["usage"]["prompt_tokens"] == 512 + 3 + 512


def test_an_empty_bearer_token_and_other_fields_are_no_error(server):
    body = b'{"model": "all-minilm", "input": "a", "user": "someone", "prefix": "query: "}'
    host, port = server.url.removeprefix("http://").split(":")
    head = (
        f"POST /v1/embeddings HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer \r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=10) as client:  # httpx will not send such a header
        client.sendall(head.encode() + body)
        assert client.recv(100).startswith(b"HTTP/1.1 200")
