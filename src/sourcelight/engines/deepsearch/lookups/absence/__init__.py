"""Absence: names that nothing defines, words that no file has, and the spellings that were meant instead.

Lookups and the ranking come here when they found nothing. Start with `names`.
"""
