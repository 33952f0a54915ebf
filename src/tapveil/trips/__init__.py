"""The trips as an agency has them: files, their columns, and how their bytes are read."""
