"""Values of lines that a question describes: by names, keys, paths, comments and help texts.

Every content word of the question must be covered by one line and what belongs to it. Start with `answer`.
"""
