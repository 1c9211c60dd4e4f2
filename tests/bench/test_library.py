"""The bench of searches, on a small knowledge base."""

from bankml.embedders import choose
from bench import library


def test_a_small_store_is_searched(stocked_home, tmp_path) -> None:
    embedder, asked = choose(name=library.MODEL), library.questions(["en"])[:6]
    with library.filled(tmp_path / "kb.db", embedder, ["en"], 60) as store, store.reading() as db:
        assert db.execute("SELECT count(*) FROM chunks_vec").fetchone() == (60,)
        found = library.warm(store, embedder, asked)
    assert {name: len(taken) for name, taken in found.items()} == dict.fromkeys(
        ("words", "meaning", "fused", "again"), 3
    )
    assert library.table([{"chunks": 60, "milliseconds": found}]).startswith("| passages | words, ms |")


def test_what_breaks_a_promise_is_told() -> None:
    fast = {name: [1.0, 2.0, 900.0] for name in library.PROMISED}
    assert library.broken([{"chunks": 100_000, "milliseconds": fast}]) == []
    slow = fast | {"words": [11.0], "cold shell": [700.0]}
    assert [fault.split(" takes")[0] for fault in library.broken([{"chunks": 1000, "milliseconds": slow}])] == [
        "words",
        "cold shell",
    ]
