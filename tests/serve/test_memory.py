"""What the server holds, gives back and refuses to take."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bankml.available import Available
from bankml.models import header
from bankml.need import need
from bankml.room import Room
from bankml.serve.resident import mapped
from oracle import family
from tests import cgroup
from tests.serve.wire import until

MB = 1_000_000


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory, models_home: Path, minilm: Path) -> Iterator[Path]:
    """A BANKML_HOME with MiniLM and `large`: two layers of bge-m3 with its vocabulary and 8,192 positions."""
    home = tmp_path_factory.mktemp("stocked")
    (home / "models").mkdir()
    (home / "models" / minilm.name).symlink_to(minilm)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKML_HOME", str(models_home))
        family.make(home / "models" / "large.gguf", family.FAMILY["bge-m3"], ids=())
    yield home
    (home / "models" / "large.gguf").unlink()


def resident(process: subprocess.Popen) -> tuple[int, int]:
    """RssAnon and RssFile in bytes."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
    anon, file = (int(lines[key].split()[0]) << 10 for key in ("RssAnon", "RssFile"))
    return anon, file


def embed(url: str, **body: object) -> httpx.Response:
    return httpx.post(f"{url}/api/embed", json=body, timeout=240)


def in_memory(url: str) -> dict[str, dict]:
    return {model["name"]: model for model in httpx.get(f"{url}/api/ps", timeout=60).json()["models"]}


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "large"])
def test_memory_comes_back_when_a_models_time_is_over(serving, stocked: Path, tiny: Path, name: str) -> None:
    """Long texts, several at once: layers, vocabulary and the passes' buffers all go; 2 MB stayed, once."""
    with serving(stocked, "--model", str(tiny)) as server:
        assert embed(server.url, model="tiny", input=["some words"] * 1000).status_code == 200
        before = resident(server.process)
        for _ in range(2):
            assert embed(server.url, model=name, input=["word " * 1500] * 6, keep_alive="1h").status_code == 200
            held = resident(server.process)
            assert embed(server.url, model=name, keep_alive="10ms").status_code == 200
            until(lambda: f"{name}:latest" not in in_memory(server.url))
        after = resident(server.process)
        said = need(header.read(next((stocked / "models").glob(f"{name}*.gguf"))), 2)
    assert held[0] - before[0] > said.tables
    assert held[1] - before[1] > said.weights
    assert after[0] - before[0] < 6 * MB
    assert after[1] - before[1] < 3 * MB


def test_ps_tells_what_is_resident(serving, stocked: Path, tiny: Path) -> None:
    with serving(stocked, "--model", str(tiny), "--keep-alive", "-1") as server:
        assert embed(server.url, model="large").json()["embeddings"] == []  # warmed up
        warm = in_memory(server.url)["large:latest"]
        assert embed(server.url, model="large", input="sky", keep_alive="1h").status_code == 200
        used = in_memory(server.url)
        file = stocked / "models" / "large.gguf"
        said = need(header.read(file), 2)
        assert list(used) == ["tiny:latest", "large:latest"]
        assert used["large:latest"]["size"] == file.stat().st_size
        assert warm["resident"] < said.tables + 4 * MB
        assert 0 <= used["large:latest"]["resident"] - said.weights - said.tables < 6 * MB
        assert used["tiny:latest"]["expires_at"] > "2300"
        embed(server.url, model="large", keep_alive=0)
        until(lambda: list(in_memory(server.url)) == ["tiny:latest"])


def test_a_system_that_does_not_tell_what_is_resident(tmp_path: Path) -> None:
    assert mapped(tmp_path, 0, 0, tmp_path / "none") is None
    status = tmp_path.stat()
    assert mapped(tmp_path, status.st_dev, status.st_ino) is None


def test_a_file_is_known_by_its_number_when_its_name_is_gone(tmp_path: Path) -> None:
    smaps = tmp_path / "smaps"
    smaps.write_text(
        "7f00-7f01 r--p 00000000 fe:01 77   /models/a b.gguf (deleted)\nSize: 8 kB\nRss:   8 kB\nPss: 8 kB\n"
        "7f01-7f02 r--p 00002000 fe:01 77   /models/a b.gguf (deleted)\nRss:   4 kB\n"
        "7f02-7f03 r--p 00000000 fe:02 77   /other\nRss:   100 kB\n7f04-7f05 rw-p 00000000 00:00 0 \nRss: 5 kB\n"
    )
    assert mapped(Path("/models/c.gguf"), os.makedev(0xFE, 1), 77, smaps) == 12 << 10
    assert mapped(Path("/other"), os.makedev(0, 9), 1, smaps) == 100 << 10


# The guard before a load

SHORT = "model requires more system memory ("


def test_a_load_that_does_not_fit_is_refused_in_each_familys_shape(applications, minilm: Path, tiny: Path) -> None:
    left = Available(20 * MB, "a test")
    with applications(minilm, room=Room(measure=lambda: left)) as ask:
        for path in ("/api/embed", "/api/embeddings", "/v1/embeddings", "/tokenize"):
            answer = ask("POST", path, json={"model": minilm.stem, "input": "a", "prompt": "a"})
            error = answer.json()["error"]
            sentence = error["message"] if path.startswith("/v1") else error
            assert answer.status_code == 500
            assert sentence.startswith(SHORT + "0.04 GB) than is available (0.02 GB, by a test)")
            assert "BANKML_EMBED_NEED_GB" in sentence
        left = Available(60 * MB, "a test")
        assert ask("POST", "/api/embed", json={"model": minilm.stem, "input": "a"}).status_code == 200


@pytest.mark.parametrize(("stated", "status"), [(0, 200), (4 * MB, 200), (6 * MB, 500)])
def test_what_is_stated_goes_before_what_is_computed(applications, minilm: Path, stated: int, status: int) -> None:
    room = Room(stated=stated, measure=lambda: Available(5 * MB, "a test"))
    with applications(minilm, room=room) as ask:
        assert ask("POST", "/api/embed", json={"model": minilm.stem, "input": "a"}).status_code == status


def test_a_system_that_does_not_tell_refuses_nothing(applications, minilm: Path) -> None:
    with applications(minilm, room=Room(stated=10**18, measure=lambda: None)) as ask:
        assert ask("POST", "/api/embed", json={"model": minilm.stem, "input": "a"}).status_code == 200


def test_the_first_model_is_guarded_too(home: Path) -> None:
    env = os.environ | {"BANKML_HOME": str(home), "BANKML_EMBED_NEED_GB": "900000"}
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--model", "all-minilm", "--port", "0"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    _, error = done.stderr.splitlines()
    assert error.startswith(f"bankml: {SHORT}900000.00 GB) than is available (")
    assert "set BANKML_EMBED_NEED_GB" in error


def test_a_real_limit_of_a_cgroup_is_told_and_another_model_still_answers(serving, stocked: Path, tiny: Path) -> None:
    with cgroup.limited(100 * MB) as group, serving(stocked, "--model", str(tiny)) as server:
        (group / "cgroup.procs").write_text(str(server.process.pid))
        refused = embed(server.url, model="large", input="a")
        assert (refused.status_code, refused.json()["error"].startswith(SHORT)) == (500, True)
        assert f"by the memory limit of the cgroup {group}" in refused.json()["error"]
        for name in ("tiny", "all-minilm"):
            assert embed(server.url, model=name, input=["word " * 600] * 4).status_code == 200
    assert server.process.returncode == 0
