"""The authorization server: registration, authorization with its pages, tokens, revocation, metadata.

Nothing here knows repositories or search. The protocol's handlers are those of the SDK, over the provider of this room;
they load with the first request that needs them. Start with `endpoints`.
"""

from sourcelight.server.oauth.addresses import OAuthOptions
from sourcelight.server.oauth.endpoints import OAuthEndpoints
from sourcelight.server.oauth.forms import form_of, is_same_site
from sourcelight.server.oauth.sign_in import READER_COOKIE

__all__ = ["READER_COOKIE", "OAuthEndpoints", "OAuthOptions", "form_of", "is_same_site"]
