"""Read-only pages: conversations, files at a commit, directories, commits.

They are HTML without scripts under a strict policy, with all text escaped; pages with forms are in `server.oauth`. A
token or the session of a browser opens a page, with a check of permissions each time. Start with `routes`.
"""
