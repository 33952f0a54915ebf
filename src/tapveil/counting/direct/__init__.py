"""Counting straight from files: trips, in one pass, without an engine."""
