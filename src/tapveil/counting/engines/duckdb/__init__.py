"""DuckDB, embedded: the engine that needs nothing."""
