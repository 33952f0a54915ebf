"""What the report says, as numbers and codes: from exact counts, and from a published folder where there is one."""
