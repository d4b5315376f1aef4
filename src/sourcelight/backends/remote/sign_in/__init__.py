"""Sign-in to a service with OAuth: once in a browser, with stored tokens after that.

It is the authorization code flow with PKCE for a native program (RFC 8252). The program discovers the authorization
server (RFC 9728, RFC 8414), registers itself unless it is registered (RFC 7591), and receives the code on a local port.
Only the user can read the token file. No secret is in any message, repr or frame of an error. Access tokens are in
`endpoint`; start with `session`.
"""

from sourcelight.backends.remote.sign_in.session import OAuthCredential, SignInOptions
from sourcelight.backends.remote.sign_in.tokens import TokenCache

__all__ = ["OAuthCredential", "SignInOptions", "TokenCache"]
