"""The veil: the one place where exact counts become published ones, and the release around it."""
