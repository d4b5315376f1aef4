"""Signing in to a service as a person, by OAuth: in a browser once, by kept tokens from then on.

The authorization code flow with PKCE for a program on the user's own machine (RFC 8252): the service's authorization
server is found (RFC 9728, RFC 8414), this program registers itself there (RFC 7591) unless it is known already, the
person agrees in the browser, and the answer comes back to a port on this machine. Tokens stay in a file that only the
user can read, and are renewed while they are used. No secret is in any message, repr or frame of an error.
"""

from sourcelight.backends.remote.sign_in.session import OAuthCredential, SignInOptions
from sourcelight.backends.remote.sign_in.tokens import TokenCache

__all__ = ["OAuthCredential", "SignInOptions", "TokenCache"]
