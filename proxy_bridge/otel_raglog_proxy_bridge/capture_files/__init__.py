"""Files of captured calls to calls: one file per kind, and a registry of them."""
