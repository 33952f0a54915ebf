"""Who runs the SQL: each engine is a folder of a session, a dialect and its views."""
