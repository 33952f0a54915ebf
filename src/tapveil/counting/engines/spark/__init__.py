"""Spark: counting where the trips of a country are."""
