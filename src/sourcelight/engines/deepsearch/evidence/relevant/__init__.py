"""The most relevant passages of a ranking: definitions and lines of its best files.

`files` reads the best files, `lines` ranks the definitions and lines in them, and `passages` selects and describes
those that are shown. Nothing here knows the kind of answer that a question wants.
"""
