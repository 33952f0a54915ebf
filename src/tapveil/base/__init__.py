"""The foundation of tapveil: errors, names, numbers, files, progress. Independent of trips and plans."""
