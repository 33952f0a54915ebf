"""Trip files of an agency: their columns, and how their bytes are read."""
