"""/api/embed and /api/embeddings, as Ollama's clients see them."""

import asyncio
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import numpy as np
import pytest

from bankml.encoder import Encoder
from bankml.serve.ollama import counts, legacy_is_raw
from oracle import seeded
from tests.serve.wire import until

TEXTS = ["why is the sky blue?", "", "Der Himmel ist blau.", "天空是蓝色的。", "one two three"]
LONG = "the quick brown fox jumps over the lazy dog " * 200


def vectors(answer: httpx.Response) -> bytes:
    """Bits of the vectors in an answer, as float32."""
    assert answer.status_code == 200, answer.text
    return np.array(answer.json()["embeddings"], np.float32).tobytes()


def embed(http: httpx.Client, **body) -> httpx.Response:
    return http.post("/api/embed", json={"model": "all-minilm", **body})


# Every row of the table of /api/embed


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"model": "all-minilm", "input": ["a", 1]}, 400, "invalid input type"),
        ({"model": "all-minilm", "input": 1}, 400, "invalid input type"),
        ({"model": "all-minilm", "input": {}}, 400, "invalid input type"),
        ({"model": "all-minilm", "input": [["a"]]}, 400, "invalid input type"),
        ({"model": "nonesuch", "input": [1]}, 400, "invalid input type"),
        ({"model": "nonesuch", "input": "a"}, 404, "model 'nonesuch' not found"),
        ({"model": "nonesuch"}, 404, "model 'nonesuch' not found"),
        ({"model": "../../etc/passwd", "input": "a"}, 400, "invalid model name"),
        ({"model": "a b", "input": "a"}, 400, "invalid model name"),
        ({"model": "x" * 81, "input": "a"}, 400, "invalid model name"),
        ({"input": "a"}, 400, "model is required"),
        ({"model": None, "input": "a"}, 400, "model is required"),
        ({"model": "all-minilm", "input": LONG, "truncate": False}, 400, "the input length exceeds the context length"),
        (
            {"model": "all-minilm", "input": "five words are too many", "truncate": False, "options": {"num_ctx": 6}},
            400,
            "the input length exceeds the context length",
        ),
        (
            {"model": "all-minilm", "input": "a", "options": {"num_ctx": 2}},
            400,
            "input after truncation exceeds maximum context length",
        ),
        (
            {"model": "all-minilm", "input": [""], "options": {"num_ctx": 2}},
            400,
            "input after truncation exceeds maximum context length",
        ),
        (
            {"model": "all-minilm", "input": "a", "options": {"num_ctx": "many"}},
            400,
            'option "num_ctx" must be of type integer',
        ),
        ({"model": "all-minilm", "input": "a", "keep_alive": True}, 400, "Unsupported type: 'bool'"),
        ({"model": "all-minilm", "input": "a", "keep_alive": []}, 400, "Unsupported type: '[]interface {}'"),
        ({"model": "all-minilm", "input": "a", "keep_alive": {}}, 400, "Unsupported type: 'map[string]interface {}'"),
        ({"model": "all-minilm", "input": "a", "keep_alive": "5"}, 400, 'time: missing unit in duration "5"'),
        ({"model": "all-minilm", "input": "a", "keep_alive": ""}, 400, 'time: invalid duration ""'),
        ({"model": "all-minilm", "input": "a", "keep_alive": "5x"}, 400, 'time: unknown unit "x" in duration "5x"'),
        (
            {"model": "nonesuch", "input": [1], "keep_alive": "-1"},
            400,
            'time: missing unit in duration "-1"',
        ),
    ],
)
def test_refusals(http, body, status, message):
    answer = http.post("/api/embed", json=body)
    assert (answer.status_code, answer.json()["error"]) == (status, message)


@pytest.mark.parametrize(
    ("body", "index"),
    [
        ({"input": [1]}, 0),
        ({"input": ["a", "b", None, 1]}, 2),
        ({"input": ["a", ["b"]]}, 1),
        ({"input": ["a", "b", "c", LONG, LONG], "truncate": False}, 3),
        ({"input": [f"text {k}" for k in range(700)] + [LONG], "truncate": False}, 700),
    ],
)
def test_a_refusal_names_the_input(http, body, index):
    answer = embed(http, **body)
    assert answer.status_code == 400
    assert answer.json()["index"] == index


def test_a_refusal_of_no_input_in_particular_names_none(http):
    for body in ({"input": 1}, {"model": "nonesuch", "input": "a"}, {"input": "a", "options": {"num_ctx": "many"}}):
        assert set(embed(http, **body).json()) == {"error"}


def test_what_ollamas_words_leave_unsaid_is_the_reason(http):
    answer = embed(http, input=["a", LONG], truncate=False).json()
    assert answer["error"] == "the input length exceeds the context length"
    assert answer["reason"].startswith("text 1 has more than 512 tokens")


@pytest.mark.parametrize("body", [b"", b"  \n"])
def test_an_empty_body(http, body):
    for path in ("/api/embed", "/api/embeddings", "/api/show"):
        answer = http.post(path, content=body)
        assert (answer.status_code, answer.json()) == (400, {"error": "missing request body"})


def test_wrong_types_of_fields(http):
    for field in ({"truncate": "yes"}, {"dimensions": "many"}, {"options": []}, {"model": 1}):
        answer = embed(http, **{"input": "a"} | field)
        assert answer.status_code == 400
        assert next(iter(field)) in answer.json()["error"]


@pytest.mark.parametrize("body", [{}, {"input": None}, {"input": []}, {"input": ""}])
def test_no_text_gives_no_embedding(http, body):
    answer = embed(http, **body)
    assert (answer.status_code, answer.json()) == (200, {"model": "all-minilm", "embeddings": []})


def test_no_text_loads_the_model(http):
    embed(http, model="multilingual-e5-small", keep_alive=0)
    time.sleep(0.1)
    assert embed(http, model="multilingual-e5-small").json()["embeddings"] == []
    assert "multilingual-e5-small:latest" in [model["name"] for model in http.get("/api/ps").json()["models"]]


def test_what_an_answer_holds(http):
    answer = embed(http, model="all-minilm:latest", input=["a"]).json()
    assert list(answer) == ["model", "embeddings", "total_duration", "load_duration", "prompt_eval_count"]
    assert answer["model"] == "all-minilm:latest"
    assert answer["total_duration"] > answer["load_duration"] > 0


def test_what_is_zero_is_left_out(monkeypatch):
    monkeypatch.setattr(time, "perf_counter_ns", lambda: 7)
    assert counts(7, 7, 0) == {}
    assert counts(5, 6, 3) == {"total_duration": 2, "load_duration": 1, "prompt_eval_count": 3}


def test_an_empty_text_in_an_array_is_embedded(http, encoder):
    assert vectors(embed(http, input=[""])) == encoder.encode([""]).tobytes()
    assert embed(http, input=["", " "]).json()["prompt_eval_count"] == 4


def test_every_text_is_a_unit_vector_unless_asked(http, encoder):
    assert vectors(embed(http, input=TEXTS)) == encoder.encode(TEXTS).tobytes()
    assert vectors(embed(http, input=TEXTS, normalize=False)) == encoder.encode(TEXTS, normalize=False).tobytes()


@pytest.mark.parametrize("dimensions", [0, 384, 4096, -1, None])
def test_dimensions_that_change_nothing(http, encoder, dimensions):
    assert vectors(embed(http, input=TEXTS[0], dimensions=dimensions)) == encoder.encode(TEXTS[:1]).tobytes()


def test_truncation_is_reported(http, encoder):
    answer = embed(http, input=["short", LONG, "short", LONG])
    assert answer.headers["X-Bankml-Truncated"] == "2"
    assert answer.json()["truncated"] == [1, 3]
    assert answer.json()["prompt_eval_count"] == 3 + 512 + 3 + 512
    assert vectors(answer) == encoder.encode(["short", LONG, "short", LONG]).tobytes()


def test_what_is_whole_is_not_reported(http):
    answer = embed(http, input=["short"], truncate=True)
    assert "X-Bankml-Truncated" not in answer.headers
    assert "truncated" not in answer.json()


def test_num_ctx_lowers_the_limit_and_cannot_raise_it(http, encoder):
    low = embed(http, input=LONG, options={"num_ctx": 16})
    assert vectors(low) == encoder.encode_full([LONG], max_tokens=16).vectors.tobytes()
    assert low.json()["prompt_eval_count"] == 16
    for num_ctx in (8192, 0, None, 8192.0):
        assert embed(http, input=LONG, options={"num_ctx": num_ctx}).json()["prompt_eval_count"] == 512


def test_strings_that_are_not_unicode(http, encoder):
    body = b'{"model": "all-minilm", "input": ["a \\ud800 b", "a \xff b", "\\ud83d\\ude00"]}'
    assert vectors(http.post("/api/embed", content=body)) == encoder.encode(["a \ufffd b"] * 2 + ["😀"]).tobytes()
    answer = http.post("/api/embed", content=b'{"model": "all-\\ud800-minilm \xff", "input": "a"}')
    assert (answer.status_code, answer.json()) == (400, {"error": "invalid model name"})


@pytest.mark.parametrize("truncate", [True, False])
def test_only_length_is_called_too_long(http, home, truncate):
    path = seeded.tiny(home / "models" / "bare.gguf", vocabulary="unigram")
    content = bytearray(path.read_bytes())
    for key in (b"tokenizer.ggml.add_bos_token", b"tokenizer.ggml.add_eos_token"):
        content[content.index(key) + len(key) + 4] = 0  # behind the type of the value: no special tokens
    path.write_bytes(content)
    try:
        answer = embed(http, model="bare", input=["sky", ""], truncate=truncate)
    finally:
        path.unlink()
    assert (answer.status_code, answer.json()["index"]) == (400, 1)
    assert "text 1 has no tokens" in answer.json()["error"]


def test_a_limit_of_three_holds_a_token(http, encoder):
    answer = embed(http, input="sky blue", options={"num_ctx": 3})
    assert vectors(answer) == encoder.encode_full(["sky blue"], max_tokens=3).vectors.tobytes()


def test_odd_texts(http, encoder, odd_texts):
    texts = [text for text in odd_texts if "\ud83d" not in text]  # what JSON joins to a pair is a character
    answer = http.post("/api/embed", content=json.dumps({"model": "all-minilm", "input": texts}).encode())
    assert vectors(answer) == encoder.encode(texts).tobytes()


def test_a_text_of_8192_tokens_among_short_ones(http, home, long_positions):
    (home / "models" / "long.gguf").symlink_to(long_positions)
    with Encoder(long_positions) as long:
        text = "sky blue why " * 4000
        expected = long.encode_full([text])
    try:
        alone = embed(http, model="long", input=text)
        among = embed(http, model="long", input=["a", text, "", "b"])
    finally:
        (home / "models" / "long.gguf").unlink()
    assert expected.tokens.tolist() == [8192]
    assert vectors(alone) == expected.vectors.tobytes()
    assert np.array(among.json()["embeddings"][1], np.float32).tobytes() == expected.vectors.tobytes()
    assert among.json()["truncated"] == [1]


def test_weights_that_are_not_finite_are_an_error_and_never_a_nan(http, home, minilm):
    from gguf import GGUFReader

    tensor = next(t for t in GGUFReader(minilm).tensors if t.name == "blk.3.ffn_up.weight")
    content = bytearray(minilm.read_bytes())
    content[tensor.data_offset + 100 : tensor.data_offset + 102] = b"\xff\xff"
    (home / "models" / "poisoned.gguf").write_bytes(content)
    try:
        answer = embed(http, model="poisoned", input=["a", "b"], keep_alive=0)
    finally:
        (home / "models" / "poisoned.gguf").unlink()
    assert (answer.status_code, answer.json()["error"]) == (400, "embedding contains NaN or Inf values")
    assert "blk.3.ffn_up.weight" in answer.json()["reason"]


@pytest.fixture(scope="module")
def overflow(home, overflowing):
    """A model of bankml's folder, `overflow`, with a vector for every text but those that begin with sky."""
    path = overflowing(home / "models" / "overflow.gguf", "sky")
    yield path
    path.unlink()


@pytest.mark.usefixtures("overflow")
def test_a_text_whose_vector_overflows_is_named(http):
    texts = [*(f"text {k}" for k in range(500)), "sky", "blue"]
    answer = embed(http, model="overflow", input=texts)
    assert (answer.status_code, answer.json()["error"]) == (400, "embedding contains NaN or Inf values")
    assert (answer.json()["index"], "overflow.gguf" in answer.json()["reason"]) == (500, True)
    answer = http.post("/v1/embeddings", json={"model": "overflow", "input": texts})
    error = answer.json()["error"]
    assert (answer.status_code, error["message"]) == (400, "embedding contains NaN or Inf values")
    assert (error["index"], error["type"], error["param"]) == (500, "invalid_request_error", None)
    answer = http.post("/api/embeddings", json={"model": "overflow", "prompt": "sky"})
    assert (answer.status_code, answer.json()["error"]) == (400, "embedding contains NaN or Inf values")


@pytest.mark.usefixtures("overflow")
def test_nothing_bad_poisons_what_follows(http, home, encoder):
    broken = home / "models" / "broken.gguf"
    broken.write_bytes((home / "models" / "overflow.gguf").read_bytes()[:50_000])
    expected, blue = encoder.encode(TEXTS).tobytes(), vectors(embed(http, model="overflow", input=["blue"]))
    bad = [
        {"input": ["a", 1]},
        {"input": ["a", LONG], "truncate": False},
        {"model": "overflow", "input": ["blue", "sky"]},
        {"model": "broken", "input": ["a"]},
        {"model": "nonesuch", "input": ["a"]},
        {"input": "a", "options": {"num_ctx": 2}},
    ]
    try:
        for body in bad:
            assert embed(http, **body).status_code in (400, 404, 500)
            assert vectors(embed(http, input=TEXTS)) == expected, body
            assert vectors(embed(http, model="overflow", input=["blue"])) == blue, body
    finally:
        broken.unlink()


def test_a_model_that_cannot_be_loaded_is_the_servers_fault(http, home):
    broken = home / "models" / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    try:
        for path in ("/api/embed", "/api/embeddings"):
            answer = http.post(path, json={"model": "broken", "input": "a", "prompt": "a"})
            assert (answer.status_code, "broken.gguf" in answer.json()["error"]) == (500, True)
    finally:
        broken.unlink()


def test_five_thousand_short_texts(http, encoder):
    texts = [f"text {k}" for k in range(5000)]
    got = embed(http, input=texts).json()["embeddings"]
    assert len(got) == 5000
    sample = range(0, 5000, 97)
    expected = encoder.encode([texts[k] for k in sample])
    assert np.array([got[k] for k in sample], np.float32).tobytes() == expected.tobytes()


def test_eight_clients_with_different_neighbours_get_the_same_bits(server, encoder):
    expected = {text: row.tobytes() for text, row in zip(TEXTS, encoder.encode(TEXTS), strict=True)}

    def ask(turn: int) -> bool:
        texts = [*(TEXTS[(turn + k) % 5] for k in range(turn % 7 + 1)), "neighbour " * (turn * 13 % 90)]
        answer = httpx.post(f"{server.url}/api/embed", json={"model": "all-minilm", "input": texts}, timeout=60)
        rows = np.array(answer.json()["embeddings"], np.float32)
        return all(row.tobytes() == expected[text] for text, row in zip(texts[:-1], rows, strict=False))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(64)))


def test_four_hundred_requests_at_once_are_all_served(server):
    async def ask() -> list[int]:
        limits = httpx.Limits(max_connections=400)
        async with httpx.AsyncClient(base_url=server.url, timeout=120, limits=limits) as client:
            body = {"model": "all-minilm", "input": [f"text {k}" for k in range(2)]}
            answers = await asyncio.gather(*(client.post("/api/embed", json=body) for _ in range(400)))
            return [answer.status_code for answer in answers]

    assert asyncio.run(ask()) == [200] * 400


def test_a_client_that_hangs_up_stops_its_work(server, http):
    body = json.dumps({"model": "all-minilm", "input": [LONG] * 1500}).encode()
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        head = f"POST /api/embed HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        time.sleep(0.5)
    before = cpu_seconds(server.process.pid)

    def rests() -> bool:
        working = cpu_seconds(server.process.pid)
        time.sleep(0.5)
        return cpu_seconds(server.process.pid) - working < 0.1

    until(rests)
    assert cpu_seconds(server.process.pid) - before < 3  # all of it takes half a minute and more
    assert embed(http, input="healthy").status_code == 200


def cpu_seconds(pid: int) -> float:
    """User and system time of a process (Linux)."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


# The older route


def test_legacy(http, encoder):
    answer = http.post("/api/embeddings", json={"model": "all-minilm", "prompt": TEXTS[0]})
    assert list(answer.json()) == ["embedding"]
    assert answer.json()["embedding"] == encoder.encode(TEXTS[:1])[0].astype(float).tolist()


def test_legacy_is_raw_for_xlm_roberta(http, e5):
    answer = http.post("/api/embeddings", json={"model": "multilingual-e5-small", "prompt": TEXTS[0]})
    with Encoder(e5) as encoder:
        raw = encoder.encode(TEXTS[:1], normalize=False)
    assert np.array(answer.json()["embedding"], np.float32).tobytes() == raw.tobytes()
    assert abs(np.linalg.norm(raw) - 1) > 0.01


@pytest.mark.parametrize("body", [{}, {"prompt": ""}, {"prompt": None}, {"input": "not read by this route"}])
def test_legacy_without_a_prompt(http, body):
    answer = http.post("/api/embeddings", json={"model": "all-minilm"} | body)
    assert (answer.status_code, answer.json()) == (200, {"embedding": []})


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"prompt": "a"}, 400, "model is required"),
        ({"model": "a b", "prompt": "a"}, 400, "model is required"),
        ({"model": "nonesuch", "prompt": "a"}, 404, 'model "nonesuch" not found, try pulling it first'),
        ({"model": "all-minilm", "prompt": LONG}, 500, "the input length exceeds the context length"),
        (
            {"model": "all-minilm", "prompt": "a", "options": {"num_ctx": 2}},
            400,
            "input after truncation exceeds maximum context length",
        ),
    ],
)
def test_legacy_refusals(http, body, status, message):
    answer = http.post("/api/embeddings", json=body)
    assert (answer.status_code, answer.json()["error"]) == (status, message)


@pytest.mark.parametrize("path", ["/api/embed", "/api/embeddings"])
def test_a_num_ctx_without_room_for_a_text_is_told_why(http, path):
    body = {"model": "all-minilm", "input": "a", "prompt": "a", "options": {"num_ctx": 2}}
    assert http.post(path, json=body).json() == {
        "error": "input after truncation exceeds maximum context length",
        "reason": "num_ctx is 2, and a text needs 3 tokens with its special ones; raise it or leave it out",
    }


BERT = {"general.architecture": "bert", "bert.pooling_type": 2}
NOMIC = {"general.architecture": "nomic-bert", "nomic-bert.pooling_type": 1}


@pytest.mark.parametrize(
    ("metadata", "raw"),
    [
        (BERT | {"tokenizer.ggml.model": "t5"}, True),
        (BERT | {"tokenizer.ggml.model": "bert"}, False),
        (BERT | {"tokenizer.ggml.model": "bert", "bert.normalize_embeddings": False}, True),
        (BERT | {"tokenizer.ggml.model": "bert", "bert.normalize_embeddings": True}, False),
        ({"general.architecture": "bert", "tokenizer.ggml.model": "t5"}, False),
        (NOMIC, True),
        (NOMIC | {"nomic-bert.normalize_embeddings": True}, False),
        ({"general.architecture": "modern-bert", "modern-bert.pooling_type": 1}, False),
        ({}, False),
    ],
)
def test_the_rule_of_raw_vectors(metadata, raw):
    assert legacy_is_raw(metadata) is raw


# keep_alive


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(90, 90), (90.5, 90.5), ("90s", 90), ("1h30m", 5400), (None, 300), (-1, None), ("-1m", None), (1e18, None)],
)
def test_how_long_a_model_is_kept(http, value, seconds):
    embed(http, input="a", keep_alive=value)
    entry = next(model for model in http.get("/api/ps").json()["models"] if model["name"].startswith("all-minilm"))
    expires = datetime.fromisoformat(entry["expires_at"])
    left = (expires - datetime.now(UTC)).total_seconds()
    assert left > 9e9 if seconds is None else seconds - 30 < left <= seconds


def test_keep_alive_zero_drops_the_model_and_the_next_request_loads_it(http, encoder):
    def in_memory() -> list[str]:
        return [model["name"] for model in http.get("/api/ps").json()["models"]]

    embed(http, model="multilingual-e5-small", input="a")
    assert "multilingual-e5-small:latest" in in_memory()
    embed(http, model="multilingual-e5-small", keep_alive=0)
    until(lambda: "multilingual-e5-small:latest" not in in_memory())
    assert vectors(embed(http, model="multilingual-e5-small", input="a"))


def test_two_models_at_once(http, encoder):
    threads = [
        threading.Thread(target=embed, args=(http,), kwargs={"model": "multilingual-e5-small", "input": "a"})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert vectors(embed(http, input=TEXTS)) == encoder.encode(TEXTS).tobytes()
    for thread in threads:
        thread.join()
