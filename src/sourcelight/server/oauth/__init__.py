"""The authorization server: registration, authorize with its pages, token, revoke, metadata.

`OAuthEndpoints(...).routes()` are the routes. The protocol's handlers are the SDK's, over a provider of our own; they
are loaded with the first request that needs them. Nothing here knows repositories or search.
"""

from sourcelight.server.oauth.addresses import OAuthOptions
from sourcelight.server.oauth.endpoints import OAuthEndpoints
from sourcelight.server.oauth.sign_in import READER_COOKIE

__all__ = ["READER_COOKIE", "OAuthEndpoints", "OAuthOptions"]
