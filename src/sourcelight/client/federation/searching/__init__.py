"""One search of several services: their streams as one, which rows are the same, and in which order they stand."""
