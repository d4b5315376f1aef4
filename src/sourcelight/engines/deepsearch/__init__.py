"""Conversations, researchers and citations: questions answered from the code of pinned commits.

Uses the tools with the permissions of whoever asks. Never serves HTTP and never renders HTML.
"""
