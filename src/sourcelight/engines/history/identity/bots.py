"""Which identities are programs, by a rule that can be read."""

from __future__ import annotations

import re
from functools import lru_cache

BOT_RULE = (
    "an identity counts as a bot when its name or the local part of its address ends with [bot] or (bot), when bot "
    "or robot stands as the last word of either, or when it is a known service (dependabot, renovate, greenkeeper, "
    "snyk, pre-commit-ci, github-actions, codecov, weblate, transifex, pyup, mergify, allcontributors, "
    "semantic-release, jenkins, travis)"
)
"""The rule in words, for notices."""

_LAST_WORD = re.compile(r"(?:^|[\s._+-])(?:ro)?bot$|[a-z](?:Bot|BOT|Robot)$")
_SERVICES = re.compile(
    r"(?:dependabot|renovate|greenkeeper|snyk|pre-commit-ci|github-actions?|codecov|weblate|transifex|pyup|mergify|"
    r"allcontributors|semantic-release|jenkins|travis)(?:[\s._-]?(?:ci|io|preview|ro?bot|bot|user|service))*"
)


@lru_cache(maxsize=1 << 16)
def is_bot(name: str, email: str) -> bool:
    """Tell whether an identity is a program, by `BOT_RULE`."""
    local = email.partition("@")[0]
    # GitHub's noreply addresses have a number before the login.
    local = local.partition("+")[2] or local
    for word in (name.strip(), local.strip()):
        lower = word.lower()
        if lower.endswith(("[bot]", "(bot)")) or _LAST_WORD.search(lower) or _LAST_WORD.search(word):
            return True
        if _SERVICES.fullmatch(lower):
            return True
    return False
