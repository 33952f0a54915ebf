"""A published folder as files that other programs open: from its published numbers alone, always the same bytes."""
