"""Exact counts: the secret side. Nothing here may be imported by what is published."""
