"""Wire spans to held traces."""
