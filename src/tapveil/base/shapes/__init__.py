"""The shapes that ship with tapveil, as TOML: each after an agency whose files its readers know."""
