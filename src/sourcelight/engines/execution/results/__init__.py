"""What a search found as one run of batches: united, selected, filtered by owner, ranked, cut and counted."""
