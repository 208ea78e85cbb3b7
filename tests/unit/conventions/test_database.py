"""Spans of databases for anything, of which a few search for vectors."""

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.database import PARTS, Database, searches_vectors
from otel_raglog.model import FieldStatus, Role

PGVECTOR = "SELECT id, text, embedding <=> %s AS distance FROM pages ORDER BY distance LIMIT 5"
SEARCHES = [
    ("postgresql", PGVECTOR),
    ("postgresql", "/* app */ (SELECT id FROM pages ORDER BY v <-> '[0.1,0.2]' LIMIT 3)"),
    (
        "postgresql",
        "with q as (select 1) select id from pages order by v <#> $1 fetch first 4 rows only",
    ),
    ("cockroachdb", "SELECT id FROM pages ORDER BY v <+> $1"),
    ("mysql", "SELECT id FROM pages ORDER BY VECTOR_DISTANCE(v, ?) LIMIT 2"),
    ("mariadb", "SELECT id FROM pages ORDER BY VEC_DISTANCE_COSINE(v, ?) LIMIT 2"),
    ("sqlite", "select id from pages order by vec_distance_cosine(v, ?) limit 2"),
    ("clickhouse", "SELECT id FROM pages ORDER BY cosineDistance(v, [0.1]) LIMIT 2"),
    ("duckdb", "SELECT id FROM pages ORDER BY array_cosine_distance(v, ?) LIMIT 2"),
    (
        "microsoft.sql_server",
        "SELECT TOP (6) id FROM pages ORDER BY VECTOR_DISTANCE('cosine', v, @q)",
    ),
    ("gcp.bigquery", "SELECT base.id FROM VECTOR_SEARCH(TABLE pages, 'v', TABLE q)"),
    ("cassandra", "SELECT id FROM pages ORDER BY v ANN OF ? LIMIT 3"),
    ("mongodb", "aggregate pages [{'$vectorSearch': {'queryVector': '?', 'limit': 7}}]"),
    ("elasticsearch", '{"knn": {"field": "v", "query_vector": "?", "k": 8}}'),
    ("redis", "FT.SEARCH pages (*)=>[KNN 3 @v $q]"),
]
OTHERS = [
    ("postgresql", "SELECT * FROM users WHERE id = 1"),
    ("postgresql", "INSERT INTO pages (v) SELECT v FROM old ORDER BY v <=> %s"),
    ("postgresql", "UPDATE pages SET near = v <-> %s"),
    ("postgresql", "SELECT name FROM shops ORDER BY place <-> ST_MakePoint(1, 2) LIMIT 3"),
    ("postgresql", "SELECT id FROM pages WHERE words @@ to_tsquery('ferry <-> fare')"),
    ("mysql", "SELECT id FROM users WHERE name <=> NULL"),
    ("postgresql", "SELECT word_similarity('a', b) FROM words"),
    ("mongodb", 'find users {"known": 1}'),
    ("redis", "GET knn:1"),
    ("", ""),
]


def read(system, statement, key="db.statement", **attributes):
    (one,) = spans_of(
        span("SELECT", attributes={"db.system": system, key: statement, **attributes})
    )
    return Database().read(one)


@pytest.mark.parametrize(("system", "statement"), SEARCHES)
def test_searches_for_the_nearest_vectors(system, statement):
    """By operator, by function, or by the stage of a query: these are retrievers, and are held."""
    assert searches_vectors(statement, system)
    assert read(system, statement).role is Role.RETRIEVER
    assert read(system, statement, "db.query.text").role is Role.RETRIEVER
    assert any(part in statement.lower() for part in PARTS)


@pytest.mark.parametrize(("system", "statement"), OTHERS)
def test_other_statements_are_not_read(system, statement):
    """Also where an operator means something else, or vectors are written."""
    assert read(system, statement) is None


@pytest.mark.parametrize(
    ("statement", "count"),
    [(SEARCHES[n][1], count) for n, count in ((0, 5), (2, 4), (9, 6), (12, 7), (13, 8), (14, 3))]
    + [("SELECT id FROM pages ORDER BY v <=> $1 LIMIT $2", None)],
)
def test_the_number_of_results_asked_for(statement, count):
    """Where the statement names it, and not a parameter."""
    assert read("", statement).top_k == count


def test_what_is_not_recorded_is_not_guessed():
    """A statement tells neither the text that was searched for nor the rows."""
    facts = read("postgresql", PGVECTOR)
    assert facts.query.status is FieldStatus.NOT_CAPTURED
    assert facts.documents.status is FieldStatus.NOT_CAPTURED


def test_a_search_of_redis_records_what_it_found():
    """Its fields are attributes; a search by words says for which."""
    given = {
        "redis.search.index": "pages",
        "redis.search.query": "bicycle fare",
        "redis.search.total": 2,
        "redis.search.xdoc_page:1.content": "Bicycles travel for 4 euro.",
        "redis.search.xdoc_page:1.score": "0.2",
        "redis.search.xdoc_page:2.content": "Dogs stay on deck.",
    }
    facts = read("redis", "FT.SEARCH ? ?", **given)
    assert facts.query.value == "bicycle fare"
    assert [(c.id, c.text, c.score) for c in facts.documents.value] == [
        ("page:1", "Bicycles travel for 4 euro.", 0.2),
        ("page:2", "Dogs stay on deck.", None),
    ]
    given["redis.search.query"] = "(*)=>[KNN 2 @v $q]"
    assert read("redis", "FT.SEARCH ? ?", **given).query.value is None
    nothing = read("redis", "x", **{"redis.search.index": "i", "redis.search.total": 0})
    assert nothing.documents.status is FieldStatus.EMPTY


def test_it_is_asked_for_searches_alone():
    """Every other statement of an application is not even read."""
    known = ConventionSet([Database()])
    spans = spans_of(*(span("q", attributes={"db.statement": text}) for _, text in OTHERS[:1]))
    assert known.speaking(spans[0]) == ()
    writing = {"db.statement": "INSERT INTO notes VALUES ('a <=> b')"}
    (wrote,) = spans_of(span("INSERT", attributes=writing))
    assert known.speaking(wrote) == ()
