"""Sentences and statements that answer a question for an explanation: why, how, what happens, which, what differs.

`explanations` reads what is asked, `candidates` reads the sentences and statements of the best files, each of which is
an `asked_file`, and `choice` compares them with the question. `excerpts` shows the best with the lines that they need,
and `statement` quotes one that answers by itself. `instructions` tells sentences that say how to do something,
`sections` finds a section with the question as its title, and `entries` finds entries of lists that begin with a name.
Start with `choice`.
"""
