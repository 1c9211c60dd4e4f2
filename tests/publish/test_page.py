"""docs/publishing.md: its SQL runs, and what it says of the tables is so."""

import re
from pathlib import Path

import psycopg

from bankml.publish import publish
from tests.postgres import rows

WHOLE = (Path(__file__).parents[2] / "docs" / "publishing.md").read_text(encoding="utf-8")
PAGE = WHOLE.partition("# Publish a knowledge base")[0]


def test_its_queries_run(dsn, history, seeded):
    publish(history(("one", "1"), ("two", "2")), "ada", include_private=True, dsn=dsn, vectors=seeded())
    vector = seeded().of({"user": "two", "assistant": "2"})
    text = f"[{','.join(map(str, vector.tolist()))}]"
    blocks = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    with psycopg.connect(dsn, autocommit=True) as connection:
        for block in blocks:
            *settings, last = [each for each in block.replace("[…]", text).split(";") if each.strip()]
            for setting in settings:
                connection.execute(setting)
            cursor = connection.execute(last)
            assert cursor.description is None or [row[0] for row in cursor] == [1, 0]


def test_the_manifest_has_what_it_says(dsn, history, seeded):
    publish(history(("one", "1")), "ada", include_private=True, dsn=dsn, vectors=seeded())
    ((manifest,),) = rows(dsn, "SELECT manifest FROM bankml_agents")
    said = next(row for row in PAGE.splitlines() if "`manifest` jsonb" in row).split("|")[3]
    assert re.findall(r"`(\w+)`", said) == [
        *"bankml lines exchanges embedded history_sha256 history_bytes model digest dims licence".split()
    ]
    assert set(manifest) == set(re.findall(r"`(\w+)`", said))
