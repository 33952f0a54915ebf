"""The page in a folder, `explorer.html`: to look before reading. One file, no network, from published numbers alone."""
