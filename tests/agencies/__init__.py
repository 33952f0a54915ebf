"""Programs as readers of an agency's files write them, from its public documentation. None of them knows tapveil."""
