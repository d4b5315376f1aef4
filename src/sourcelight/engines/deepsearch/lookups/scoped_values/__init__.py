"""Values of names in a place that a question gives: a file, a class, a record, a table, a section, a function.

`readings` and `calls` read what a line gives to a name, and `holders` finds what is around a line. Defaults of
parameters, and constants wherever they are, live above in `defaults`. `answer` is where to start.
"""
