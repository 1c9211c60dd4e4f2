"""Many clients at once, over HTTP: each answer is, to the bit, that of a lone call; nobody waits for those who left."""

import asyncio
import base64
import random
import socket
import threading
import time
from urllib.parse import urlsplit

import httpx
import numpy as np

from tests.serve.wire import until

WORDS = "why is the sky blue and what does it mean to see it from a hill in autumn".split()
MODEL = "all-minilm"


def requests_of(chance: random.Random, count: int) -> list[list[str]]:
    texts = [" ".join(chance.choices(WORDS, k=chance.choice([1, 3, 9, 60, 250]))) for _ in range(120)]
    return [chance.sample(texts, chance.choice([1, 1, 1, 2, 8])) for _ in range(count)]


async def vectors(client: httpx.AsyncClient, texts: list[str], openai: bool) -> np.ndarray:
    if openai:
        body = {"model": MODEL, "input": texts, "encoding_format": "base64"}
        answer = (await client.post("/v1/embeddings", json=body)).raise_for_status().json()
        return np.array([np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in answer["data"]])
    answer = (await client.post("/api/embed", json={"model": MODEL, "input": texts})).raise_for_status().json()
    return np.array(answer["embeddings"], np.float32)


def hang_up(url: str, texts: list[str]) -> None:
    """Ask and leave without waiting for the answer."""
    body = httpx.Request("POST", url, json={"model": MODEL, "input": texts}).read()
    head = f"POST /api/embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port)) as client:
        client.sendall(head.encode() + body)
        time.sleep(0.05)


def test_the_bits_of_a_lone_call_under_load_and_aborts(server, encoder):
    chance = random.Random(11)
    asked = requests_of(chance, 100)

    async def scene() -> list[np.ndarray]:
        limits = httpx.Limits(max_connections=60)
        async with httpx.AsyncClient(base_url=server.url, timeout=120, limits=limits) as client:
            return await asyncio.gather(*(vectors(client, texts, k % 2 == 0) for k, texts in enumerate(asked)))

    leaving = [threading.Thread(target=hang_up, args=(server.url, requests_of(chance, 1)[0] * 20)) for _ in range(20)]
    for thread in leaving:
        thread.start()
    found = asyncio.run(scene())
    for thread in leaving:
        thread.join()
    for texts, rows in zip(asked, found, strict=True):
        assert rows.tobytes() == encoder.encode(texts).tobytes()


def test_four_hundred_posts_of_many_texts_are_all_served(server, encoder):
    texts = [" ".join(WORDS[k % 9 : k % 9 + 2]) for k in range(32)]
    expected = encoder.encode(texts).tobytes()

    async def scene() -> None:
        async with httpx.AsyncClient(
            base_url=server.url, timeout=120, limits=httpx.Limits(max_connections=400)
        ) as client:
            found = await asyncio.gather(*(vectors(client, texts, True) for _ in range(400)))
            assert all(rows.tobytes() == expected for rows in found)

    asyncio.run(scene())


def test_a_query_does_not_wait_for_a_large_job(http, server):
    job = {"model": MODEL, "input": [" ".join(WORDS * 15)] * 80}
    done = []
    worker = threading.Thread(target=lambda: done.append(httpx.post(f"{server.url}/api/embed", json=job, timeout=120)))
    worker.start()
    time.sleep(0.2)
    for _ in range(3):
        assert http.post("/api/embed", json={"model": MODEL, "input": "why"}).status_code == 200
        assert not done
    worker.join()
    assert done[0].status_code == 200


def test_the_work_of_clients_that_left_is_dropped(http, server):
    for _ in range(30):  # half an hour of work
        hang_up(server.url, [" ".join(WORDS * 15)] * 2000)
    started = time.perf_counter()
    document = {"model": MODEL, "input": [" ".join(WORDS * 15)] * 2}
    assert http.post("/api/embed", json=document).status_code == 200
    assert time.perf_counter() - started < 60


def test_a_full_queue_says_when_to_come_again(serving, home):
    job = {"model": MODEL, "input": [" ".join(WORDS * 15)] * 120}
    with serving(home, "--model", MODEL, "--max-queue", "1") as server:
        worker = threading.Thread(target=lambda: httpx.post(f"{server.url}/api/embed", json=job, timeout=240))
        with httpx.Client(base_url=server.url, timeout=60) as client:

            def ask(path: str) -> httpx.Response:
                return client.post(path, json={"model": MODEL, "input": "why"})

            def ready() -> int:
                return client.get("/health/ready").status_code

            assert ready() == 200
            worker.start()
            until(lambda: ready() == 503)
            for path, status in (("/api/embed", 503), ("/v1/embeddings", 429)):
                answer = ask(path)
                assert (answer.status_code, int(answer.headers["retry-after"])) == (status, 1)
            assert ready() == 503
            assert client.get("/health/live").status_code == 200
            worker.join()
            assert [ask(path).status_code for path in ("/api/embed", "/v1/embeddings")] == [200, 200]
            assert ready() == 200
