"""Definitions of a name: where they are, which of them is meant, and the sentence that states it.

Other lookups find out about a definition here, and say about it what a question asks. Start with `search`.
"""
