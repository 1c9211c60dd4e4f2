"""Models in memory: loaded once, kept, dropped."""

import asyncio

import pytest

from bankml.durations import FOREVER
from bankml.errors import InputError, ModelError
from bankml.models import choose
from bankml.serve.engines import Engines

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
            loaded.encoder.encode(["a"])
        await asyncio.sleep(0.15)
        assert engines.loaded() == []

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
        await asyncio.sleep(0.05)
        assert engines.loaded() == []

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
