"""Accepted requests and what was decided about them, kept until every destination has them."""
