"""What git reads in a process of its own: many contents at once, and the subjects of commits with their paths.

Everything else about objects is read in this process, by `repos.objects`.
"""
