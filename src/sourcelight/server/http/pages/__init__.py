"""Pages for people: searches and conversations; `code` has directories, files and commits.

They are HTML that works without script, under a policy that runs only the service's own file, with all text escaped;
pages of sign-in are in `server.oauth`. A token or the session of a browser opens a page, with a check of permissions
each time. Start with `routes`.
"""
