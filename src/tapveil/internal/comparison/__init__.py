"""Choosing ε with open eyes: what each mechanism, unit and ε would leave of the holder's own trips. Internal."""
