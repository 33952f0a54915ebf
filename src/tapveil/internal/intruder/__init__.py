"""The intruder test: attacks of the kind that broke other publications, on generated people, and how often they win."""
