"""Places that a question describes instead of naming: a file, a type or a function with its words.

`concepts` compares words, and `candidates` reads what names and first sentences have. Definitions that a question names
live beside, in `definitions`. Start with `answer`.
"""
