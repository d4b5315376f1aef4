"""Who wrote what: mailmaps, trailers, bots, and identities that may be one person.

Nothing is merged here unless git's own mailmap, or one that the reader gave, says so.
"""

from sourcelight.engines.history.identity.bots import BOT_RULE, is_bot
from sourcelight.engines.history.identity.mailmap import Mailmap, check_mailmap, parse_mailmap
from sourcelight.engines.history.identity.suggestions import Suggestion, Usage, suggest
from sourcelight.engines.history.identity.trailers import Trailer, co_authors, trailers_of

__all__ = [
    "BOT_RULE",
    "Mailmap",
    "Suggestion",
    "Trailer",
    "Usage",
    "check_mailmap",
    "co_authors",
    "is_bot",
    "parse_mailmap",
    "suggest",
    "trailers_of",
]
