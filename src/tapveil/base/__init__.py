"""What every part of tapveil stands on: errors, names, numbers, files, progress. Knows nothing of trips or plans."""
