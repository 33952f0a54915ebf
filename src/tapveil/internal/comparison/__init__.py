"""Choosing ε with open eyes: what each mechanism, unit and ε would leave of the custodian's own trips. Confidential."""
