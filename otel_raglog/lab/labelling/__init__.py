"""The label rules, by what they look at: queries, passages, answers."""
