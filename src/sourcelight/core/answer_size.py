"""Bounds of the size of an answer, in tokens. Settings and options are checked against them before tools load."""

DEFAULT_MAX_TOKENS = 8_000
"""Tokens of an answer where a caller pays for each: clients cut answers at about 25,000."""

MIN_TOKENS = 300
"""The smallest limit of an answer: below it, little more than the notices would be left."""

MAX_TOKENS = 1_000_000
"""A limit that no answer reaches, for callers without one."""
