"""The fast path: answers to small searches, from what an earlier search of the same shape prepared."""
