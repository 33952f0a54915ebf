"""The next release, from an earlier published folder alone."""
