"""What a reader is told beside the results: what was left out, what looks mistaken, what to try."""
