"""Counts of what languages declare with words of their own, such as the messages of Protocol Buffers.

Start with `counting`, which counts the lines that declare something. `forms` has the form of a line for each noun and
language. `tests` counts tests by the custom of each language.
"""
