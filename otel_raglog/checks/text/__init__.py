"""What the checks read in English text: words, numbers, names, sentences, question types."""
