"""A model whose file is rewritten while it is served."""

import os
import time

import httpx

from oracle import seeded


def test_a_rewritten_file_is_loaded_anew(serving, home, tmp_path):
    path = seeded.tiny(tmp_path / "tiny.gguf")
    with serving(home, "--model", str(path)) as server:

        def embed() -> tuple[int, object]:
            answer = httpx.post(f"{server.url}/api/embed", json={"model": "tiny", "input": "sky"}, timeout=30)
            return answer.status_code, answer.json().get("embeddings", answer.text)

        before = embed()
        assert before[0] == 200
        for _ in range(2):
            time.sleep(0.02)  # the grain of mtime
            path.write_bytes(path.read_bytes())
            assert embed() == before
            assert httpx.post(f"{server.url}/v1/embeddings", json={"model": "tiny", "input": "sky"}).status_code == 200


def test_a_file_that_came_back_is_served_again(serving, home, tmp_path):
    path = seeded.tiny(tmp_path / "tiny.gguf")
    content = path.read_bytes()
    with serving(home, "--model", str(path)) as server:

        def status() -> int:
            return httpx.post(f"{server.url}/api/embed", json={"model": "tiny", "input": "sky"}, timeout=30).status_code

        assert status() == 200
        time.sleep(0.02)
        os.truncate(path, 100)
        assert status() in (400, 500)
        path.write_bytes(content)
        assert status() == 200
