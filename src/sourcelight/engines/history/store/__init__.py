"""How histories get on disk and back: git's patch streams parsed into segments, a manifest that names those that count.

Nothing here searches, and nothing elsewhere writes these files.
"""
