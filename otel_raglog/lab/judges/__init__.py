"""Labels by LLMs that know the reference answers: they state findings, rules make the labels."""
