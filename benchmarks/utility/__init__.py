"""What is left of the data under each mechanism, unit of protection and ε: the demo city, side by side."""
