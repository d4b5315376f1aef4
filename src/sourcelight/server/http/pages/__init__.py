"""Pages that are only read: conversations, files at a commit, folders, commits.

Plain HTML without any script, under a policy that would run none; all text is escaped. A page is opened by a token or
by the session of a signed-in browser, and permissions are checked each time.
"""
