"""Adds a folder to a knowledge base and finds in it: `python examples/find_in_a_folder.py [FOLDER [QUESTION]]`."""

import sys
import tempfile
from pathlib import Path

from bankml.library.add.ingest import Ingest
from bankml.library.add.selection import Selection
from bankml.library.model import binding
from bankml.library.model.configuration import Configuration
from bankml.library.model.initialise import initialise
from bankml.library.search.searcher import Searcher
from bankml.settings import Settings
from bankml.store import Store

folder = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("notes"))
question = sys.argv[2] if len(sys.argv) > 2 else "the heating does not work"
settings, path = Settings.read(), Path(tempfile.mkdtemp()) / "kb.db"
initialise(path, settings)  # the default model, fetched once
with Store.open(path) as store:
    embedder = binding.embedder(store, settings)
    added = Ingest(store, embedder, Configuration.read(path)).run(Selection([folder], path).sources())
    print(f"{added.added} files, {added.chunks} passages, {len(added.failed)} failed")
    with Searcher(store, lambda: embedder) as searcher:
        found = searcher.search(question, 3)
for hit in found.results:
    print(f"{hit.path}:{hit.line}  {hit.heading}  {hit.text!r}")
print(found.status)
