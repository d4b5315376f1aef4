"""What an answer says besides its matches: notices, proposals to change the query, and explanations of a plan.

Facts come as fields from `plan`, `source` and `run` of the room above, which decide nothing by these texts. Start at `notices`, then at
`proposals`.
"""
