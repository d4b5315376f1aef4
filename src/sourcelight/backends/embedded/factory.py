"""Opening deep search over a state file, as the operator or the environment chose it.

Where files of this program belong on this machine.

Mirrors of remote repositories, for callers that open an address in place of a folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from sourcelight.core.cancellation import Cancellation
from sourcelight.repos.mirrors import clone

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.repos.state import State


MODEL = "SOURCELIGHT_MODEL"
"""Variable of the environment that names a model; `sourcelight.engines.deepsearch.llm.provider` knows those beside."""


def open_desk(state: State, *, sharing: bool = True, model: str = "") -> ConversationService:
    """Deep search whose conversations are kept in `state`; what a dead process left running is marked as interrupted.

    Parameters
    ----------
    state
        Accounts and conversations.
    sharing
        Whether conversations can be shared by link.
    model
        Name of the model that answers; empty: what ``SOURCELIGHT_MODEL`` says, and without that none is asked.

    Raises
    ------
    MissingExtra
        When a model is named and its library is not installed.
    ConfigurationError
        When the model can't be used as it is named, or ``SOURCELIGHT_MODEL_MAX_COST`` is no amount.
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
    """The folder for what can be made again (the index): below ``SOURCELIGHT_HOME``, else the user's cache folder."""
    home = os.environ.get("SOURCELIGHT_HOME")
    return Path(home).expanduser() if home else Path(platformdirs.user_cache_dir("sourcelight"))


def data_home() -> Path:
    """The folder for what must not be lost: below ``SOURCELIGHT_HOME``, else the user's data folder."""
    home = os.environ.get("SOURCELIGHT_HOME")
    return Path(home).expanduser() if home else Path(platformdirs.user_data_dir("sourcelight"))


def index_folder() -> Path:
    """The index; may be deleted at any time."""
    return cache_home() / "index"


def mirrors_folder() -> Path:
    """Where ``clone`` keeps its bare mirrors."""
    return data_home() / "mirrors"


def mirror(url: str, *, progress: Callable[[Any], None] | None = None, cancellation: Cancellation | None = None) -> str:
    """Mirror a repository below `homes.mirrors_folder`, or bring its mirror up to date; returns the mirror's path."""
    return clone(url, mirrors_folder(), progress=progress, cancellation=cancellation)
