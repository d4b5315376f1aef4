"""Directories of sourcelight on this machine, deep search over a state file, and mirrors of remote repositories."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

if TYPE_CHECKING:
    from sourcelight.core.cancellation import Cancellation
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.repos.state import State


MODEL = "SOURCELIGHT_MODEL"
"""Environment variable with the name of a model; see also `sourcelight.engines.deepsearch.llm.provider`."""


def open_conversations(state: State, *, sharing: bool = True, model: str = "") -> ConversationService:
    """Open deep search with its conversations in `state`; marks questions of dead processes as interrupted.

    Parameters
    ----------
    state
        Accounts and conversations.
    sharing
        Whether owners can share conversations by link.
    model
        Name of the model; empty: ``SOURCELIGHT_MODEL``, and without that no model.

    Raises
    ------
    MissingExtra
        When the library of the model is not installed.
    ConfigurationError
        When the name of the model or ``SOURCELIGHT_MODEL_MAX_COST`` is invalid.
    """
    from sourcelight.engines.deepsearch.conversations import ConversationService

    if not (model or os.environ.get(MODEL)):
        return ConversationService(state, sharing=sharing)

    from sourcelight.engines.deepsearch.llm.provider import choose_cost_limit, choose_model
    from sourcelight.engines.deepsearch.llm.researcher import ModelResearcher
    from sourcelight.engines.deepsearch.research import ResearchBudget

    choice = choose_model(name=model)
    if choice is None:
        return ConversationService(state, sharing=sharing)

    budget = replace(ResearchBudget.of_model(), cost=choose_cost_limit())
    return ConversationService(state, ModelResearcher(choice, budget), sharing=sharing)


def cache_home() -> Path:
    """Return the directory of indexes, which can be rebuilt: ``SOURCELIGHT_HOME``, else the user's cache directory."""
    home = os.environ.get("SOURCELIGHT_HOME")
    if home:
        return Path(home).expanduser()
    return Path(platformdirs.user_cache_dir("sourcelight"))


def data_home() -> Path:
    """Return the directory of state, which must not be lost: ``SOURCELIGHT_HOME``, else the user's data directory."""
    home = os.environ.get("SOURCELIGHT_HOME")
    if home:
        return Path(home).expanduser()
    return Path(platformdirs.user_data_dir("sourcelight"))


def index_folder() -> Path:
    """Return the directory of the text index; it can be deleted at any time."""
    return cache_home() / "index"


def mirrors_folder() -> Path:
    """Return the directory of the bare mirrors of ``clone``."""
    return data_home() / "mirrors"


def mirror(url: str, *, progress: Callable[[Any], None] | None = None, cancellation: Cancellation | None = None) -> str:
    """Create or update the mirror of a repository below `mirrors_folder`, and return its path."""
    from sourcelight.repos.mirrors.update import clone

    return clone(url, mirrors_folder(), progress=progress, cancellation=cancellation)
