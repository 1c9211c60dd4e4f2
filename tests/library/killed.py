"""`python -m tests.library.killed`: reindexes that are killed; children of one warm process, so that a test has many.

A line of stdin is JSON: {"db", "model", "most", and "seconds" (to live), or "number" (of a statement of SQL), or
"statement" (its beginning) and "after" (so many later)}. A line of stdout is the child's exit status, or minus its
signal.
"""

import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

from bankml.embedders import choose
from bankml.library.upkeep.reindex import reindex
from bankml.store import Store, connection

connect = connection.connect


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            _reindex(order)
        if "seconds" in order:
            time.sleep(order["seconds"])
            os.kill(child, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _reindex(order: dict) -> None:
    status = 1
    try:
        if "statement" in order or "number" in order:
            from bankml.store import store

            store.connect = lambda *arguments: _traced(connect(*arguments), order)
        with Store.open(Path(order["db"])) as store_:
            reindex(store_, choose(name=order["model"]), most=order.get("most", 256))
        status = 0
    finally:
        os._exit(status)


def _traced(db: sqlite3.Connection, order: dict) -> sqlite3.Connection:
    seen, left = 0, None

    def trace(statement: str) -> None:
        nonlocal seen, left
        seen += 1
        left = None if left is None else left - 1
        if "statement" in order and statement.startswith(order["statement"]):
            left = order.get("after", 0)
        if seen == order.get("number") or left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    db.set_trace_callback(trace)
    return db


if __name__ == "__main__":
    main()
