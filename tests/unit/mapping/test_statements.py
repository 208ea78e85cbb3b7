"""Which texts are statements of a query language, and which results are rows."""

import pytest

from otel_raglog.mapping.statements import is_rows, is_statement


@pytest.mark.parametrize(
    "text",
    [
        "SELECT price FROM parking WHERE port='Sandmouth'",
        "```sql\nselect count(*) from ferries;\n```",
        "SQLQuery: SELECT name FROM ships",
        "-- the price\nWITH p AS (SELECT * FROM parking) SELECT price FROM p",
        "MATCH (p:Port {name: 'Sandmouth'})-[:HAS]->(k:Parking) RETURN k.price",
        "PREFIX ex: <http://example.org/> SELECT ?p WHERE { ex:Sandmouth ex:price ?p }",
        'query Price { parking(port: "Sandmouth") { price } }',
        '{ parking(port: "Sandmouth") { price } }',
        '[{"$match": {"port": "Sandmouth"}}, {"$project": {"price": 1}}]',
        '{"query": {"bool": {"must": [{"term": {"port": "Sandmouth"}}]}}}',
        "Parking | where Port == 'Sandmouth' | project Price",
        "df[df['port'] == 'Sandmouth']['price']",
        'and(eq("port", "Sandmouth"), lt("price", 10))',
        "port = 'Sandmouth' AND price < 10",
    ],
)
def test_statements(text):
    """Whatever the language, in a fence, behind a label or a comment."""
    assert is_statement(text)


@pytest.mark.parametrize(
    "text",
    [
        "What does parking at Sandmouth cost?",
        "Select a ferry from the list of ships where dogs are allowed",
        "match the ferry and return to Sandmouth",
        "Query: parking Sandmouth",
        "dogs like cats",
        "dogs in 2024",
        '{"query": "parking Sandmouth", "filter": {"port": "Sandmouth"}}',
        "with a dog from Sandmouth",
        "",
    ],
)
def test_words(text):
    """A sentence with the same words is none, nor is a query in words beside its filter."""
    assert not is_statement(text)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("[(6,)]", True),
        ('[{"price": 6, "port": "Sandmouth"}]', True),
        ("| port | price |\n| Sandmouth | 6 |", True),
        ("6", True),
        ("[('Dogs are allowed on the aft deck, on a lead.',)]", False),
        ("Dogs are allowed on the aft deck, on a lead.", False),
    ],
)
def test_rows(text, rows):
    """Values are rows; a passage among them can be read."""
    assert is_rows(text) is rows
