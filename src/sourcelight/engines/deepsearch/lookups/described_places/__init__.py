"""Places that a question describes instead of naming: a file, a type or a function with its words.

`concepts` compares words, and `candidates` reads what names and first sentences have. `answer` states the only place
that has all words; if there is none, `best_file` states the first file of a ranking if it is far the best. Definitions
that a question names live beside, in `definitions`. Start with `answer`.
"""
