"""What a service with accounts asks of its repositories, beyond what somebody asks who searches their own files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sourcelight.repos.state import RepositoryRegister


@dataclass(frozen=True, slots=True)
class ServicePolicy:
    """How repositories are opened for others to read.

    Parameters
    ----------
    register
        Remembers names and privacy of places over restarts.
    default_visibility
        ``private`` or ``public``, of repositories for which nobody decided; empty: private below a folder in which
        anything is or was private, else public.
    trusted_paths
        Paths outside of the served folders that repositories may read objects from, and that links may lead to.
    """

    register: RepositoryRegister
    default_visibility: Literal["", "private", "public"] = ""
    trusted_paths: tuple[str, ...] = ()
