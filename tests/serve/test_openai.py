"""/v1/embeddings and /v1/models, as the openai package and others see them."""

import asyncio
import base64
import socket

import numpy as np
import openai
import pytest

TEXTS = ["why is the sky blue?", "", "Der Himmel ist blau.", "天空是蓝色的。", "one two three"]
LONG = "the quick brown fox jumps over the lazy dog " * 200


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def refused(http, **body) -> tuple[int, dict]:
    answer = http.post("/v1/embeddings", json={"model": "all-minilm"} | body)
    return answer.status_code, answer.json()["error"]


def test_base64_is_what_the_package_asks_for(client, encoder):
    answer = client.embeddings.create(model="all-minilm", input=TEXTS)
    got = np.array([row.embedding for row in answer.data], np.float32)
    assert got.tobytes() == encoder.encode(TEXTS).tobytes()
    assert [row.index for row in answer.data] == list(range(len(TEXTS)))
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == encoder.encode_full(TEXTS).tokens.sum()
    assert (answer.object, answer.model, answer.data[0].object) == ("list", "all-minilm", "embedding")


def test_float(client, encoder):
    answer = client.embeddings.create(model="all-minilm", input=TEXTS[0], encoding_format="float")
    assert np.array(answer.data[0].embedding, np.float32).tobytes() == encoder.encode(TEXTS[:1]).tobytes()


def test_dimensions(client, encoder):
    answer = client.embeddings.create(model="all-minilm", input=TEXTS, dimensions=100)
    got = np.array([row.embedding for row in answer.data], np.float32)
    assert got.tobytes() == encoder.encode(TEXTS, dimensions=100).tobytes()


def test_async(server, encoder):
    async def ask() -> list[list[float]]:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
            ask_one = client.embeddings.create
            answers = await asyncio.gather(*(ask_one(model="all-minilm", input=text) for text in TEXTS))
            return [answer.data[0].embedding for answer in answers]

    assert np.array(asyncio.run(ask()), np.float32).tobytes() == encoder.encode(TEXTS).tobytes()


def test_models(client):
    names = [model.id for model in client.models.list()]
    assert {"all-minilm-l6-v2:latest", "multilingual-e5-small:latest"} == set(names)
    one = client.models.retrieve("sentence-transformers/all-MiniLM-L6-v2")
    assert (one.object, one.owned_by) == ("model", "library")
    assert one.created > 1_600_000_000
    with pytest.raises(openai.NotFoundError, match="model 'nonesuch' not found"):
        client.models.retrieve("nonesuch")


def test_errors_have_the_shape_that_the_package_reads(client):
    with pytest.raises(openai.NotFoundError) as error:
        client.embeddings.create(model="nonesuch", input="a")
    assert error.value.body == {
        "message": "model 'nonesuch' not found",
        "type": "not_found_error",
        "param": None,
        "code": None,
    }
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="all-minilm", input=[])


def test_token_ids_are_refused_with_the_switch_that_helps(client):
    for ids in ([1, 2, 3], [[1, 2], [3]]):
        with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length=False"):
            client.embeddings.create(model="all-minilm", input=ids)


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
