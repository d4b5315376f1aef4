"""Finding commits and changed lines in opened histories, newest first, as record batches."""
