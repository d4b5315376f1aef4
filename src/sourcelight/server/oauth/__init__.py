"""The OAuth 2.1 authorization server: registration, sign-in, consent, tokens and their metadata."""
