"""What everyone may know: the public files that a plan names, each read once."""
