"""What an LLM is asked about a run, and what is measured by its answers."""
