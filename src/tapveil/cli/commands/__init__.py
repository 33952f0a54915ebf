"""The commands, a module for each: read the options, call the library, show what it found."""
