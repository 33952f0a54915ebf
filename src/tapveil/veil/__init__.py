"""The veil: the one place where exact counts become published ones, and all that stands around it."""
