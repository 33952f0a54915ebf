"""The audit: attacks the program as built, on made-up trips, and says what the attack proves."""

from tapveil.audit.attack import DEFAULT_TRIALS, MISTAKEN, Finding, audit

__all__ = ["DEFAULT_TRIALS", "MISTAKEN", "Finding", "audit"]
