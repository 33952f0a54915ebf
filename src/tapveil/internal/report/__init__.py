"""The holder's report: what a plan publishes of its trips, what it loses where, and what would pay. Internal."""
