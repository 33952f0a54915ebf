"""Pure mathematics of the release: no files, no clock, no logging, no engine; randomness is handed in."""
