"""The JSON API: recent runs, stages, set-up and sessions, to whoever may read them."""
