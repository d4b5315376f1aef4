"""Answers about a project as a whole, from its documents, directories, tags and newest commits.

Start with `answering`. Fields of manifests are in `lookups.builds`, and counts of commits and people in `facts`.
"""
