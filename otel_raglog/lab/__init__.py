"""Real local RAG pipelines over corpora with known evidence, live fault injection, and labels."""
