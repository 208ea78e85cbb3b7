"""Recent reports in memory, for the JSON API: kept beside the line, never in its way."""
