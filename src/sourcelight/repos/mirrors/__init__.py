"""Bare mirrors of remote repositories: their addresses, how they are fetched, and when.

This is the only room that reaches other hosts, always by the git command; everything that a mirror contains is read by
the other rooms, as from any repository. Start with `update`, then `schedule`.
"""
