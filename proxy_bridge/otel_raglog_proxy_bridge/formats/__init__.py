"""APIs that pipelines call: one file for each family, one line each in the registry."""
