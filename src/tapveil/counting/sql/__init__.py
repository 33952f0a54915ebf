"""Counting by SQL: the steps, and the queries that every engine runs."""
