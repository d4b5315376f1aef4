"""Lines that are shown first among the most relevant places, where no sentence is proven.

Each is an unchanged line, so it can't be false; sentences live in `lookups` and `facts`, passages of ranked files in
`evidence`. Start with `choice`, which tries the searches of the other modules in order.
"""
