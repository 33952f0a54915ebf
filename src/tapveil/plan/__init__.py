"""The plan: what to publish, and at which privacy. Public knowledge, written before the trips are looked at."""
