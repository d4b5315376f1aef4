"""Parts of descriptions of options with a default: the scanner of keys in brackets, and chains of calls.

Nothing here knows which option a question asks about. Start with `scanner`; `source.option_defaults` joins all forms of
descriptions.
"""
