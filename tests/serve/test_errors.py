"""Errors of bankml as statuses and bodies of both families."""

import json

import pytest
from starlette.requests import Request

from bankml.errors import BusyError, InputError, ModelError, StoreError
from bankml.serve.errors import RefusedError, not_found, refuse


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


def test_an_error_without_words_is_named():
    answer = refuse(Request({"type": "http", "path": "/", "headers": []}), MemoryError())
    assert json.loads(answer.body) == {"error": "MemoryError"}


def test_not_found_is_ollamas_sentence():
    assert str(not_found("x")) == "model 'x' not found"
