"""Real pipelines: rewriters, stores, rerankers, templates, generators, and what runs them."""
