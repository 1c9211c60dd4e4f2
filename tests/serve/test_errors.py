"""Errors of bankml as statuses and bodies of both families."""

import json

import gguf
import pytest
from starlette.requests import Request

from bankml.errors import BusyError, InputError, ModelError, NotFiniteError, StoreError, TooLongError
from bankml.serve.errors import RefusedError, not_found, refuse, stopped


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InputError("text"), 400, "invalid_request_error"),
        (BusyError("text"), 503, "api_error"),
        (ModelError("text"), 500, "api_error"),
        (StoreError("text"), 500, "api_error"),
        (ValueError("text"), 500, "api_error"),
        (RefusedError(413, "text"), 413, "api_error"),
        (RefusedError(404, "text"), 404, "not_found_error"),
    ],
)
def test_status_and_body(error, status, kind):
    for path, expected in (
        ("/api/embed", {"error": "text"}),
        ("/tokenize", {"error": "text"}),
        ("/v1/embeddings", {"error": {"message": "text", "type": kind, "param": None, "code": None}}),
    ):
        answer = refuse(Request({"type": "http", "path": path, "headers": []}), error)
        assert (answer.status_code, json.loads(answer.body)) == (status, expected)
        assert ("retry-after" in answer.headers) == (status == 503)
        assert ("connection" in answer.headers) == (type(error) is ValueError)


def test_which_input_and_why_are_extra_fields():
    error = RefusedError(400, "text", 3, "because")
    for path in ("/api/embed", "/v1/embeddings"):
        body = json.loads(refuse(Request({"type": "http", "path": path, "headers": []}), error).body)
        fields = body["error"] if path == "/v1/embeddings" else body
        assert (fields["index"], fields["reason"]) == (3, "because")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TooLongError("why", index=2), "the input length exceeds the context length"),
        (NotFiniteError("why", index=2), "embedding contains NaN or Inf values"),
        (ModelError("why", index=2), "why"),
    ],
)
def test_what_stops_an_embedding_is_a_bad_request(error, message):
    refusal = stopped(error)
    assert (refusal.status, str(refusal), refusal.index) == (400, message, 2)
    assert refusal.reason == (None if message == "why" else "why")


def test_an_error_without_words_is_named():
    answer = refuse(Request({"type": "http", "path": "/", "headers": []}), RuntimeError())
    assert json.loads(answer.body) == {"error": "RuntimeError"}


def test_not_found_is_ollamas_sentence():
    assert str(not_found("x")) == "model 'x' not found"


def test_a_model_that_is_no_encoder_is_a_bad_request_with_the_reason(http, home):
    path = home / "models" / "chat.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    body = {"model": "chat", "input": "a", "prompt": "a"}
    try:
        answers = {route: http.post(route, json=body) for route in ("/api/embed", "/api/embeddings", "/v1/embeddings")}
    finally:
        path.unlink()
    for route, answer in answers.items():
        error = answer.json()["error"]
        assert answer.status_code == 400, route
        assert "'llama', which bankml does not run" in (error["message"] if route == "/v1/embeddings" else error)


def test_a_damaged_model_is_still_the_servers_fault(http, home):
    path = home / "models" / "damaged.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    try:
        assert http.post("/v1/embeddings", json={"model": "damaged", "input": "a"}).status_code == 500
    finally:
        path.unlink()
