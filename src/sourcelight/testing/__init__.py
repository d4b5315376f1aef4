"""Public test doubles: git repositories, a model and a service, for this project's tests and for its users'.

They are real things built small, and no mocks of this package; nothing in the package imports this room. Start with
`repositories`.
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
