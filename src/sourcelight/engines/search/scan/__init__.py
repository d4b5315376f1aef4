"""Answering a query from one repository's index: candidates, evaluation per file, and record batches of matches."""
