"""Source text read by its words, where no grammar helps: heads of classes, values, comments.

Functions get lines and give what they say; nothing is searched here, and no definition of the index is known. Start
with `values`. Names and definitions live in `lookups.definitions`.
"""
