"""New commits, while clients are open: what is asked next is answered from them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from oracles import checks, repositories
from oracles.epoch import Epoch, Outcome


def update(epoch: Epoch, rng: Random) -> Outcome:
    """A few commits more, and questions to clients that were open before; all caches are filled then."""
    drawer = replace(epoch.drawer, rng=rng)
    question = drawer.question()
    before = checks.check_text(epoch, epoch.client, question)
    if before.difference:
        return before
    created = rng.choice([item for item in epoch.fleet.repositories if not item.shape.clone and not item.shape.replace])
    repositories.extend(rng, created)
    epoch.forget()
    for client in (epoch.client, epoch.remote):
        for next_question in (question, drawer.question()):
            outcome = checks.check_text(epoch, client, next_question)
            if outcome.difference:
                return replace(outcome, subject=f"after commits to {created.name}: {outcome.subject}")
        history = drawer.history_question(*epoch.history_words)
        outcome = checks.check_history(epoch, client, history)
        if outcome.difference:
            return replace(outcome, subject=f"after commits to {created.name}: {outcome.subject}")
    return outcome
