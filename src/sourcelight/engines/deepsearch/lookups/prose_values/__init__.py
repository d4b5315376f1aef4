"""Values that a question describes in its own words, without the name that code gives them.

Values of a name that the question writes are found by `defaults` and `initial_values`. Sentences are written by
`defaults`, too. Start with `answer`.
"""
