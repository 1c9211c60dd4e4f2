"""Our terms in PostgreSQL: none is changed, each is counted, whatever they are."""

import psycopg
from hypothesis import given, settings
from hypothesis import strategies as st

from bankml.publish.store import lexemes, ranks
from bankml.terms import tokens
from tests.postgres import SHARED, rows

COUNTED = "SELECT width_bucket(ts_rank(%s::float4[], %s::tsvector, 'x'::tsquery), %s::float4[])"


def test_a_rank_tells_how_often_a_term_is_held(postgres):
    with psycopg.connect(postgres.dsn(SHARED)) as connection:
        for count in range(lexemes.POSITIONS + 1):
            vector = f"x:{','.join(map(str, range(1, count + 1)))}" if count else "y"
            row = connection.execute(COUNTED, (ranks.WEIGHTS, vector, ranks.STEPS)).fetchone()
            assert row == (count,)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(st.characters(categories=["L", "N", "M"]), min_size=1, max_size=5) | st.just("a" * 3000)))
def test_a_vector_is_read_as_it_was_meant(postgres, terms):
    data, held = lexemes.vector(terms)
    with psycopg.connect(postgres.dsn(SHARED)) as connection:
        connection.execute("CREATE TEMP TABLE sent (words tsvector)")
        with connection.cursor().copy("COPY sent FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["bytea"])
            copy.write_row((data,))
        found = dict(connection.execute("SELECT lexeme, positions FROM sent, unnest(words)").fetchall())
        asked = [connection.execute("SELECT words @@ %s::tsquery FROM sent", (lexemes.query(each),)) for each in terms]
        assert all(each.fetchone() == (True,) for each in asked)
    places = {}
    for position, term in enumerate(terms, 1):
        places.setdefault(lexemes.lexeme(term), []).append(position)
    assert found == places
    assert sorted(held) == sorted(places)


def test_terms_with_quotes_and_backslashes_are_quoted(postgres):
    for term in ("it's", "back\\slash", "a & b | !c <-> d:*", "'", "\\", "''\\''"):
        assert rows(postgres.dsn(SHARED), "SELECT numnode(%s::tsquery)", lexemes.query(term)) == [(1,)]
        both = "SELECT array_to_tsvector(ARRAY[%s]) @@ %s::tsquery"
        assert rows(postgres.dsn(SHARED), both, term, lexemes.query(term)) == [(True,)]


def test_limits(postgres):
    often = ["x"] * 20_000
    late = [f"t{number}" for number in range(20_000)] + ["x"] * 300
    many = [f"{number:a>1000}" for number in range(2_000)]
    with psycopg.connect(postgres.dsn(SHARED)) as connection:
        connection.execute("CREATE TEMP TABLE sent (words tsvector)")
        with connection.cursor().copy("COPY sent FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["bytea"])
            for terms in (often, late, many):
                copy.write_row((lexemes.vector(terms)[0],))
        query = "SELECT width_bucket(ts_rank(%s::float4[], words, 'x'), %s::float4[]), length(words) FROM sent"
        found = connection.execute(query, (ranks.WEIGHTS, ranks.STEPS)).fetchall()
    assert found[:2] == [(255, 1), (255, 20_001)]
    assert 900 < found[2][1] < 1000


def test_every_term_is_a_lexeme(odd_texts):
    for text in odd_texts:
        for term in tokens(text):
            assert 0 < len(lexemes.lexeme(term).encode()) <= lexemes.LONGEST
            assert "\0" not in term
