"""The ledger: what has been spent, for ever. It refuses before noise exists."""
