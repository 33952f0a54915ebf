"""The confidential report: what is suppressed and where, how accurate counts are, which changes would help most."""
