"""Answers before the engine is open, which takes seconds to load and may take minutes to find repositories.

Health, the first messages of MCP clients, OAuth and refusals need accounts and settings alone; all other requests wait
for the routes of `sourcelight.server.http.app`. No engine is imported here. Start with `routes`.
"""

from sourcelight.server.http.front.application import STREAM_PATH, Application, GetOnly
from sourcelight.server.http.front.routes import SRC_CLI_VERSION, create_front, first_routes, note_principal

__all__ = ["SRC_CLI_VERSION", "STREAM_PATH", "Application", "GetOnly", "create_front", "first_routes", "note_principal"]
