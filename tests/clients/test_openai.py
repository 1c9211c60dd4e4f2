"""The package `openai`."""

import asyncio

import pytest

from tests.clients.bits import bits

TEXTS = ["why is the sky blue?", "", "Der Himmel ist blau.", "天空是蓝色的。", "one two three"]


@pytest.fixture(scope="module")
def client(server):
    import openai

    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_base64_is_what_it_asks_for(client, encoder):
    answer = client.embeddings.create(model="all-minilm", input=TEXTS)
    assert bits([row.embedding for row in answer.data]) == bits(encoder.encode(TEXTS))
    assert [row.index for row in answer.data] == list(range(len(TEXTS)))
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == encoder.encode_full(TEXTS).tokens.sum()
    assert (answer.object, answer.model, answer.data[0].object) == ("list", "all-minilm", "embedding")


def test_float(client, encoder):
    answer = client.embeddings.create(model="all-minilm", input=TEXTS[0], encoding_format="float")
    assert bits(answer.data[0].embedding) == bits(encoder.encode(TEXTS[:1])[0])


@pytest.mark.parametrize("encoding_format", ["base64", "float"])
def test_dimensions(client, encoder, encoding_format):
    answer = client.embeddings.create(
        model="all-minilm", input=TEXTS, dimensions=100, encoding_format=encoding_format, user="someone"
    )
    rows = [row.embedding for row in answer.data]
    if encoding_format == "base64":  # asked for by name, it is handed on as it came
        assert all(isinstance(row, str) for row in rows)
    else:
        assert bits(rows) == bits(encoder.encode(TEXTS, dimensions=100))


def test_async(server, encoder):
    import openai

    async def ask() -> list[list[float]]:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
            ask_one = client.embeddings.create
            answers = await asyncio.gather(*(ask_one(model="all-minilm", input=text) for text in TEXTS))
            return [answer.data[0].embedding for answer in answers]

    assert bits(asyncio.run(ask())) == bits(encoder.encode(TEXTS))


def test_models(client):
    import openai

    names = [model.id for model in client.models.list()]
    assert {"all-minilm-l6-v2:latest", "multilingual-e5-small:latest"} == set(names)
    one = client.models.retrieve("sentence-transformers/all-MiniLM-L6-v2")
    assert (one.object, one.owned_by) == ("model", "library")
    assert one.created > 1_600_000_000
    with pytest.raises(openai.NotFoundError, match="model 'nonesuch' not found"):
        client.models.retrieve("nonesuch")


def test_errors_have_the_shape_that_it_reads(client):
    import openai

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
    import openai

    for ids in ([1, 2, 3], [[1, 2], [3]]):
        with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length=False"):
            client.embeddings.create(model="all-minilm", input=ids)


def test_a_full_queue_is_waited_for(serving, home, encoder):
    """Who finds no place is told for how long to wait, and the package asks again."""
    import openai

    texts = [f"{k} foxes jump over the lazy dog " * 60 for k in range(6)]

    async def ask(url: str, retries: int) -> list:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=retries) as client:
            create = client.embeddings.with_raw_response.create
            asked = [create(model="all-minilm", input=text) for text in texts]
            return await asyncio.gather(*asked, return_exceptions=True)

    with serving(home, "--model", "all-minilm", "--max-queue", "2") as server:
        impatient = asyncio.run(ask(server.url, retries=0))
        patient = asyncio.run(ask(server.url, retries=9))
    refused = [answer for answer in impatient if isinstance(answer, openai.RateLimitError)]
    assert refused
    assert 0 < int(refused[0].response.headers["Retry-After"]) <= 60  # of more, or none, the package takes no notice
    assert max(answer.retries_taken for answer in patient) > 0
    assert bits([answer.parse().data[0].embedding for answer in patient]) == bits(encoder.encode(texts))
