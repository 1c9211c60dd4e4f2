"""docs/publishing.md on knowledge bases: its SQL runs, and what it says of the tables is so."""

import re
from pathlib import Path

import psycopg

from bankml.publish.store.choice import Choice
from bankml.publish.store.publishing import publish
from tests.postgres import rows

PAGE = (Path(__file__).parents[3] / "docs" / "publishing.md").read_text(encoding="utf-8")
PART = PAGE.partition("# Publish a knowledge base")[2]


def test_its_queries_run(dsn, filled):
    publish(filled, Choice(), dsn, allowed=["unknown"])
    ((fingerprint, vector),) = rows(
        dsn, "SELECT fingerprint, embedding::text FROM bankml_passages WHERE record = 'rec_0000000000000003'"
    )
    blocks = re.findall(r"```sql\n(.*?)```", PART, re.DOTALL)
    assert len(blocks) == 2
    asked = [block.replace("0123456789abcdef", fingerprint).replace("384", "64") for block in blocks]
    with psycopg.connect(dsn, autocommit=True) as connection:
        found = [connection.execute(block.replace("[…]", vector)).fetchall() for block in asked]
    assert found[0][0][0] == "Bread needs flour"
    assert found[1] == [("Tokens expire after an hour", "active")]


def test_the_tables_have_what_it_says(dsn, filled):
    publish(filled, Choice(), dsn, allowed=["unknown"])
    for table, said in re.findall(r"^\| `(bankml_\w+)` \| (.*) \|$", PART, re.MULTILINE):
        query = "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
        columns = {name for (name,) in rows(dsn, query, table)}
        assert columns
        assert set(re.findall(r"`(\w+)`", said)) <= columns


def test_a_store_is_taken_back(dsn, filled):
    publish(filled, Choice(), dsn, allowed=["unknown"])
    rows(dsn, "DELETE FROM bankml_stores WHERE name = 'team'")
    for table in ("records", "assertions", "passages", "terms"):
        assert rows(dsn, f"SELECT count(*) FROM bankml_{table}") == [(0,)]
