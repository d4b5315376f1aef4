"""Public test doubles: real things built small, for this project's tests and for those of its users.

Nothing in the package itself may import this room.
"""

from sourcelight.testing.repositories import RepositoryBuilder, git_environment, make_repo
from sourcelight.testing.scripted_service import RESET, SILENCE, ReceivedRequest, ScriptedReply, ScriptedService

__all__ = [
    "RESET",
    "SILENCE",
    "ReceivedRequest",
    "RepositoryBuilder",
    "ScriptedReply",
    "ScriptedService",
    "git_environment",
    "make_repo",
]
