"""PostgreSQL, over ADBC: counting where the trips of a city are."""
