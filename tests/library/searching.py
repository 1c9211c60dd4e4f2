"""`python -m tests.library.searching DB QUERY`: searches in a loop until stdin ends; each answer is a line of JSON."""

import json
import select
import sys
from pathlib import Path

from bankml.library.model import binding
from bankml.library.search.searcher import Searcher
from bankml.settings import Settings
from bankml.store import Store


def main(path: str, query: str) -> None:
    with (
        Store.open(Path(path)) as store,
        Searcher(store, lambda: binding.embedder(store, Settings.read())) as searcher,
    ):
        while not select.select([sys.stdin], [], [], 0)[0]:
            found = searcher.search(query, 5, mode="fused")
            print(json.dumps([found.status, [[hit.text, hit.cosine] for hit in found.results]]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
