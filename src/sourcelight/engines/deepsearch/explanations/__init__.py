"""Questions for an explanation, and sentences that say something else: words alone, without files.

`subject` has the words of a question with their weights, `question` reads what kind of explanation it wants, and
`misfits` tells a sentence that has the same words and another meaning. Start with `question`.
"""
