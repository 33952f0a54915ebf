"""The audit: attacks the program as built, on generated trips, and says what the attack proves."""
