"""What is known of a run beforehand: reference answers, and whether the answer agrees with them."""
