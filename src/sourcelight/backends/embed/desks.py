"""Opening deep search over a state file, as the operator or the environment chose it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import Desk
    from sourcelight.repos.state import State

MODEL = "SOURCELIGHT_MODEL"
"""Variable of the environment that names a model; `sourcelight.engines.deepsearch.llm.provider` knows those beside."""


def open_desk(state: State, *, sharing: bool = True, model: str = "") -> Desk:
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
    from sourcelight.engines.deepsearch.conversations import Desk

    if not (model or os.environ.get(MODEL)):
        return Desk(state, sharing=sharing)
    from sourcelight.engines.deepsearch.llm.provider import chosen_cost, chosen_model
    from sourcelight.engines.deepsearch.llm.researcher import ModelResearcher
    from sourcelight.engines.deepsearch.research import Budget

    choice = chosen_model(name=model)
    if choice is None:
        return Desk(state, sharing=sharing)
    budget = replace(Budget.of_model(), cost=chosen_cost())
    return Desk(state, ModelResearcher(choice, budget), sharing=sharing)
