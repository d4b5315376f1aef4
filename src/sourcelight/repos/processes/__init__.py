"""Readers of git in a separate process: many contents, the files of a commit, and the subjects of its history.

All other objects are read in this process, by `repos.objects`. Start with `blob_process`.
"""
