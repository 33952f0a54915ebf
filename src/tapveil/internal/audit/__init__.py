"""The audit: attacks the program as built, on generated trips, and says what the attack proves."""

from tapveil.internal.audit.attack import MISTAKEN, Finding, audit

__all__ = ["MISTAKEN", "Finding", "audit"]
