"""Checks that lay texts against each other word by word: by forms of words, and by token vectors."""
