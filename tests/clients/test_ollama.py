"""The package `ollama`."""

import asyncio
from datetime import UTC, datetime

import pytest

from tests.clients.bits import bits

TEXTS = ["why is the sky blue?", "", "Der Himmel ist blau.", "天空是蓝色的。", "one two three"]


@pytest.fixture(scope="module")
def client(server):
    import ollama

    return ollama.Client(server.url)


def test_embed(client, encoder):
    answer = client.embed("all-minilm", TEXTS, options={"num_ctx": 512, "temperature": 0.1}, keep_alive="5m")
    assert bits(answer.embeddings) == bits(encoder.encode(TEXTS))
    assert answer.model == "all-minilm"
    assert answer.prompt_eval_count == encoder.encode_full(TEXTS).tokens.sum()
    assert answer.total_duration >= answer.load_duration > 0


def test_one_text_and_dimensions(client, encoder):
    answer = client.embed("all-minilm:latest", TEXTS[0], truncate=True, dimensions=64)
    assert bits(answer.embeddings) == bits(encoder.encode(TEXTS[:1], dimensions=64))


def test_the_older_call(client, encoder):
    assert bits(client.embeddings("all-minilm", TEXTS[0]).embedding) == bits(encoder.encode(TEXTS[:1])[0])


def test_async(server, encoder):
    import ollama

    texts = [text for text in TEXTS if text]

    async def ask() -> tuple[list[list[float]], list[float]]:
        client = ollama.AsyncClient(server.url)
        answers = await asyncio.gather(*(client.embed("all-minilm", text) for text in texts))
        older = await client.embeddings("all-minilm", texts[0])
        return [answer.embeddings[0] for answer in answers], older.embedding

    rows, older = asyncio.run(ask())
    assert bits(rows) == bits(encoder.encode(texts))
    assert bits(older) == bits(rows[0])


def test_list(client, minilm):
    models = client.list().models
    by_name = {model.model: model for model in models}
    assert set(by_name) == {"all-minilm-l6-v2:latest", "multilingual-e5-small:latest"}
    assert [model.modified_at for model in models] == sorted((m.modified_at for m in models), reverse=True)
    model = by_name["all-minilm-l6-v2:latest"]
    assert model.size == minilm.stat().st_size
    assert (model.details.format, model.details.family, model.details.families) == ("gguf", "bert", ["bert"])
    assert model.details.quantization_level == "F16"
    assert model.details.parameter_size in ("22.57M", "22.71M")  # llama.cpp and Ollama print the former


def test_ps(client):
    client.embed("multilingual-e5-small", "a", keep_alive=-1)
    client.embed("all-minilm", "a", keep_alive="10m")
    models = client.ps().models
    assert [model.name for model in models][:2] == ["multilingual-e5-small:latest", "all-minilm-l6-v2:latest"]
    left = (models[1].expires_at - datetime.now(UTC)).total_seconds()
    assert 500 < left <= 600
    assert models[0].expires_at.year > 2300
    assert (models[1].size_vram, models[1].context_length) == (0, 512)
    client.embed("multilingual-e5-small", "a")


def test_show(client):
    shown = client.show("all-minilm")
    assert shown.capabilities == ["embedding"]
    assert shown.modelinfo["general.architecture"] == "bert"
    assert shown.modelinfo["bert.embedding_length"] == 384
    assert shown.modelinfo["tokenizer.ggml.tokens"] is None
    assert shown.modelinfo["general.parameter_count"] > 22_000_000
    assert "Apache-2.0" in shown.license
    assert shown.modelfile.startswith("FROM ")
    assert shown.details.quantization_level == "F16"


@pytest.mark.parametrize(
    ("model", "more", "status", "words"),
    [
        ("nonesuch", {}, 404, "model 'nonesuch' not found"),
        ("all-minilm", {"input": "a " * 600, "truncate": False}, 400, "the input length exceeds the context length"),
        ("a b", {}, 400, "invalid model name"),
    ],
)
def test_errors(client, model, more, status, words):
    import ollama

    with pytest.raises(ollama.ResponseError, match=words) as error:
        client.embed(**{"model": model, "input": "a", **more})
    assert error.value.status_code == status


def test_what_an_encoder_cannot_do_is_said(client):
    import ollama

    with pytest.raises(ollama.ResponseError, match="bankml only embeds") as error:
        client.chat("all-minilm", [{"role": "user", "content": "hello"}])
    assert error.value.status_code == 404
