"""Models in memory: loaded once, kept, dropped."""

import asyncio
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from bankml.available import Available
from bankml.durations import FOREVER
from bankml.errors import InputError, ModelError, ShortError
from bankml.models import Choice, choose
from bankml.need import Need
from bankml.room import Room
from bankml.serve.engines import Engines
from oracle import seeded


async def gone(engines: Engines) -> None:
    """Wait until nothing is in memory."""
    for _ in range(600):
        if not engines.loaded():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("a model stays in memory")


pytestmark = pytest.mark.usefixtures("stocked_home")
SECOND = 10**9


def test_one_load_for_many_first_users():
    async def scene() -> None:
        engines, choice = Engines(SECOND), choose("all-minilm")

        async def use() -> object:
            async with engines.hold(choice) as loaded:
                return loaded.encoder

        encoders = await asyncio.gather(*(use() for _ in range(8)))
        assert len({id(encoder) for encoder in encoders}) == 1
        engines.close()
        with pytest.raises(InputError, match="closed"):
            encoders[0].encode(["a"])
        assert engines.loaded() == []

    asyncio.run(scene())


def test_a_model_goes_when_its_time_is_over_and_nobody_uses_it():
    async def scene() -> None:
        engines, choice = Engines(SECOND // 20), choose("all-minilm")
        async with engines.hold(choice):
            pass
        async with engines.hold(choice) as loaded:
            await asyncio.sleep(0.15)  # the first user's time is over
            assert engines.loaded() == [loaded]
            now = time.time()
            assert engines.expires_at(loaded) >= now  # not in the past
            loaded.encoder.encode(["a"])
        await gone(engines)

    asyncio.run(scene())


def test_keep_alive_of_a_request_counts_from_its_end():
    async def scene() -> None:
        engines, choice = Engines(SECOND), choose("all-minilm")
        async with engines.hold(choice, FOREVER):
            pass
        await asyncio.sleep(0.05)
        assert len(engines.loaded()) == 1
        async with engines.hold(choice, 0):
            pass
        await gone(engines)

    asyncio.run(scene())


def test_a_file_that_cannot_be_used_leaves_nothing_behind(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))

    async def scene() -> None:
        engines = Engines(SECOND)
        with pytest.raises(ModelError, match=r"broken\.gguf"):
            async with engines.hold(choose(str(broken))):
                pass
        assert engines.loaded() == []
        async with engines.hold(choose("all-minilm")):
            pass
        engines.close()

    asyncio.run(scene())


def test_a_model_that_does_not_pool_is_refused(tmp_path, minilm):
    unpooled = tmp_path / "unpooled.gguf"
    content = bytearray(minilm.read_bytes())
    value = content.index(b"bert.pooling_type") + len(b"bert.pooling_type") + 4  # behind the type of the value
    content[value : value + 4] = bytes(4)  # 0: none
    unpooled.write_bytes(content)

    async def scene() -> None:
        engines = Engines(SECOND)
        with pytest.raises(InputError, match="vector per token"):
            async with engines.hold(choose(str(unpooled))):
                pass

    asyncio.run(scene())


class Slow(Room):
    """Every load of a named model waits until it is let go."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.begun, self.go = name, threading.Event(), threading.Event()

    def need(self, choice: Choice) -> Need:
        if choice.name == self.name:
            self.begun.set()
            assert self.go.wait(60)
        return super().need(choice)


E5 = "multilingual-e5-small"


def test_a_load_keeps_nobody_from_a_model_that_is_in_memory():
    async def scene() -> None:
        room = Slow(E5)
        engines, ready, absent = Engines(FOREVER, room=room), choose("all-minilm"), choose(E5)

        async def dims(choice: Choice) -> int:
            async with engines.hold(choice) as loaded:
                return len((await asyncio.to_thread(loaded.encoder.encode, ["a"]))[0])

        await dims(ready)
        loading = [asyncio.create_task(dims(absent)) for _ in range(20)]
        await asyncio.to_thread(room.begun.wait, 60)
        assert await asyncio.gather(*(dims(ready) for _ in range(20))) == [384] * 20
        assert not any(load.done() for load in loading)
        room.go.set()
        assert await asyncio.gather(*loading) == [384] * 20
        assert len(engines.loaded()) == 2
        engines.close()

    asyncio.run(scene())


@pytest.mark.parametrize("others", [0, 3])
def test_a_load_whose_client_left_ends_well(others):
    async def scene() -> None:
        room = Slow(E5)
        engines, choice = Engines(SECOND // 10, room=room), choose(E5)

        async def use() -> int:
            async with engines.hold(choice, 10 * SECOND) as loaded:
                return loaded.encoder.dims

        first, *rest = [asyncio.create_task(use()) for _ in range(1 + others)]
        await asyncio.to_thread(room.begun.wait, 60)
        first.cancel()
        await asyncio.sleep(0)
        assert first.cancelled()
        room.go.set()
        assert await asyncio.gather(*rest) == [384] * others
        while not engines.loaded():
            await asyncio.sleep(0.01)
        if others:
            await asyncio.sleep(0.3)
            assert len(engines.loaded()) == 1
        else:
            await gone(engines)  # nobody used it: it goes when the server's time is over
        assert await use() == 384
        engines.close()

    asyncio.run(scene())


def test_a_model_that_is_kept_for_no_time_lives_until_all_who_waited_have_used_it():
    async def scene() -> None:
        engines, choice = Engines(0), choose("all-minilm")

        async def use() -> None:
            async with engines.hold(choice) as loaded:
                await asyncio.sleep(0.01)
                loaded.encoder.encode(["a"])

        await asyncio.gather(*(use() for _ in range(8)))
        await gone(engines)

    asyncio.run(scene())


def test_the_error_of_a_load_answers_all_who_wait(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))

    async def scene() -> None:
        room = Slow("broken")
        engines, choice = Engines(SECOND, room=room), choose(str(broken))

        async def use() -> None:
            async with engines.hold(choice):
                pass

        waiting = [asyncio.create_task(use()) for _ in range(8)]
        await asyncio.to_thread(room.begun.wait, 60)
        room.go.set()
        errors = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(error) for error in errors] == [ModelError] * 8
        shutil.copy(choose("all-minilm").path, broken)
        await use()  # the file is whole now
        engines.close()

    asyncio.run(scene())


@pytest.mark.parametrize("jump", [-1e9, 1e9])
def test_a_jump_of_the_clock_changes_no_models_time(jump):
    async def scene() -> None:
        now = 2e9
        engines, choice = Engines(SECOND, wall=lambda: now), choose("all-minilm")
        async with engines.hold(choice) as loaded:
            pass
        assert engines.expires_at(loaded) == pytest.approx(now + 0.5, abs=0.6)
        now += jump
        await asyncio.sleep(0.05)
        assert engines.loaded() == [loaded]
        assert engines.expires_at(loaded) == pytest.approx(now + 0.5, abs=0.6)
        await gone(engines)

    asyncio.run(scene())


def test_the_longest_kept_comes_first_and_for_ever_before_all():
    async def scene() -> None:
        engines = Engines(SECOND)
        for name, keep in (("all-minilm", FOREVER), (E5, 3600 * SECOND)):
            async with engines.hold(choose(name), keep):
                pass
        assert [loaded.choice.name for loaded in engines.loaded()] == ["all-minilm-l6-v2", E5]
        engines.close()

    asyncio.run(scene())


def encoded(engines: Engines, choice: Choice):
    async def use() -> bytes:
        async with engines.hold(choice) as loaded:
            return loaded.encoder.encode(["sky"]).tobytes()

    return use()


def replaced(path: Path, content: bytes) -> None:
    """Another file takes the name, as `mv` and downloads do it."""
    other = path.with_suffix(".new")
    other.write_bytes(content)
    os.replace(other, path)


def test_a_file_of_the_same_name_is_loaded_by_the_next_request(tmp_path):
    path, other = seeded.tiny(tmp_path / "tiny.gguf"), seeded.tiny(tmp_path / "other.gguf", seed=1)

    async def scene() -> None:
        engines, choice = Engines(FOREVER), choose(str(path))
        before = await encoded(engines, choice)
        async with engines.hold(choice) as held:
            old = held.encoder
            replaced(path, other.read_bytes())
            after = await encoded(engines, choice)
            assert old.encode(["sky"]).tobytes() == before  # what is under way ends as it began
        assert after == await encoded(engines, choose(str(other))) != before
        replaced(path, other.read_bytes()[:1000])
        with pytest.raises(ModelError, match=r"tiny\.gguf"):
            await encoded(engines, choice)
        replaced(path, other.read_bytes())
        assert await encoded(engines, choice) == after
        engines.close()

    asyncio.run(scene())


def test_a_deleted_file_serves_until_it_is_dropped(tmp_path):
    path = seeded.tiny(tmp_path / "tiny.gguf")
    content = path.read_bytes()

    async def scene() -> None:
        engines, choice = Engines(FOREVER), choose(str(path))
        before = await encoded(engines, choice)
        path.unlink()
        assert await encoded(engines, choice) == before
        async with engines.hold(choice, 0):
            pass
        await asyncio.sleep(0.05)
        with pytest.raises(ModelError, match=r"tiny\.gguf"):
            await encoded(engines, choice)
        path.write_bytes(content)
        assert await encoded(engines, choice) == before
        engines.close()

    asyncio.run(scene())


def test_a_file_that_grows_is_loaded_anew(tmp_path):
    path = seeded.tiny(tmp_path / "tiny.gguf")

    async def scene() -> None:
        engines, choice = Engines(FOREVER), choose(str(path))
        before = await encoded(engines, choice)
        async with engines.hold(choice) as held:
            encoder = held.encoder
        with path.open("ab") as file:
            file.write(bytes(1 << 20))
        assert await encoded(engines, choice) == before  # what stands behind the tensors belongs to none
        assert held.encoder is not encoder
        engines.close()

    asyncio.run(scene())


def test_idle_models_make_room_the_first_to_expire_first(tmp_path):
    paths = [seeded.tiny(tmp_path / f"{name}.gguf") for name in "abcd"]

    async def scene() -> None:
        a, b, c, d = (choose(str(path)) for path in paths)
        one = Room().need(a)
        engines = Engines(FOREVER, room=Room(measure=lambda: Available(one.total + 2 * one.weights, "a test")))
        for choice, keep in ((a, FOREVER), (b, 10 * SECOND), (c, 20 * SECOND)):
            async with engines.hold(choice, keep):
                pass
        assert {loaded.choice.name for loaded in engines.loaded()} == {"a", "b", "c"}
        async with engines.hold(a), engines.hold(d):
            assert {loaded.choice.name for loaded in engines.loaded()} == {"a", "c", "d"}
            async with engines.hold(b):  # c is the only one that nobody uses
                assert {loaded.choice.name for loaded in engines.loaded()} == {"a", "b", "d"}
                with pytest.raises(ShortError, match=r"^model requires more system memory \("):
                    await encoded(engines, c)
        await encoded(engines, c)
        engines.close()

    asyncio.run(scene())


def test_what_would_never_fit_drops_nothing(tmp_path):
    small = seeded.tiny(tmp_path / "small.gguf")
    large = seeded.tiny(tmp_path / "large.gguf", hidden=512, ffn=2048)

    async def scene() -> None:
        engines = Engines(
            FOREVER, room=Room(measure=lambda: Available(Room().need(choose(str(small))).total, "a test"))
        )
        await encoded(engines, choose(str(small)))
        with pytest.raises(ShortError):
            await encoded(engines, choose(str(large)))
        assert [loaded.choice.name for loaded in engines.loaded()] == ["small"]
        engines.close()

    asyncio.run(scene())
