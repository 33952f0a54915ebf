"""What makes parts of the documentation: the reference, and the pictures."""
