"""Pages of code: a directory, a file, a name, a commit, and two revisions compared.

What answers them are tools; these modules check the request, limit its time, and render the answer. Searches and
conversations have their own rooms. Start with `routes`.
"""
