"""Readers of git in a separate process: many contents at once, and the subjects of commits with their paths.

All other objects are read in this process, by `repos.objects`. Start with `blob_process`.
"""
