"""The git command: how it is started, in which environment, and how a fetch is followed to its end.

Contents are read with libgit2 in `objects`; git runs where libgit2 is worse. Start with `command`, the only module that
starts git.
"""
