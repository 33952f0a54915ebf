"""Plans that ship with tapveil, each a commented TOML file."""
