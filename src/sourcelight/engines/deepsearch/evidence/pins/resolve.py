"""Pin the repositories of a question to commits.

Filters such as ``repo:`` choose repositories. What a question names narrows the choice: a name of a repository in the
question, or a revision. Repositories that are on workers are pinned there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError, SourcelightError, ToolError
from sourcelight.engines.deepsearch.evidence.pins.step_request import Pins, StepRequest, run_step
from sourcelight.engines.deepsearch.question.scope import NamedScope
from sourcelight.engines.search import Target
from sourcelight.repos import Viewer, resolve

if TYPE_CHECKING:
    from sourcelight.engines.execution import LocalEngine
    from sourcelight.engines.tools import ToolContext

_FORKS_TOO = "fork:yes archived:yes"


def pin_filters(filters: str, context: ToolContext, named_scope: NamedScope | None = None) -> Pins:
    """Pin the repositories of `filters`, local or remote ones; only those in `named_scope`, if it has any.

    Raises the errors of `pin`.
    """
    named_scope = named_scope or NamedScope()
    result = run_step("pin", StepRequest(filters=filters, named_scope=named_scope), context)
    if result is None:
        pins = pin_local(context.local, filters, context.viewer, context.cancellation, named_scope)
    else:
        pins = result.value.resolve_pins(context.engine.catalog, context.viewer)
    return _require_pins(_with_missing_names(pins, named_scope.repositories), filters)


def pin(engine: LocalEngine, filters: str, viewer: Viewer, cancellation: Cancellation) -> Pins:
    """Pin the repositories of `filters` that the viewer may see.

    Raises
    ------
    QueryError
        When the filters can't be read.
    ToolError
        When there is nothing to search.
    """
    return _require_pins(pin_local(engine, filters, viewer, cancellation), filters)


def pin_local(
    engine: LocalEngine, filters: str, viewer: Viewer, cancellation: Cancellation, named_scope: NamedScope | None = None
) -> Pins:
    """Return the pins of local repositories, possibly none; raises `QueryError`.

    What is named narrows what the filters choose; a fork or an archived repository counts when it is named.
    """
    pins = _pins_of_filters(engine, filters, viewer, cancellation)
    if not named_scope:
        return pins

    if named_scope.repositories:
        names = frozenset(name.casefold() for name in named_scope.repositories)
        if names - {target.repository.name.casefold() for target in pins.targets}:
            pins = _with_forks(pins, engine, filters, viewer, cancellation)
        pins = _of_names(pins, names)

    return _at_revision(pins, named_scope.revision) if named_scope.revision else pins


def _pins_of_filters(engine: LocalEngine, filters: str, viewer: Viewer, cancellation: Cancellation) -> Pins:
    from sourcelight.engines.execution.natural_language import targets_of

    targets, failed = targets_of(engine, filters, viewer, cancellation)
    return Pins(tuple(targets), failed)


def _with_forks(pins: Pins, engine: LocalEngine, filters: str, viewer: Viewer, cancellation: Cancellation) -> Pins:
    """Return the pins of filters with forks and archived repositories, which searches leave out."""
    try:
        return _pins_of_filters(engine, f"{filters} {_FORKS_TOO}".strip(), viewer, cancellation)
    except QueryError:  # the filters say themselves what to do with forks
        cancellation.check()
        return pins


def _of_names(pins: Pins, names: frozenset[str]) -> Pins:
    """Return the pins of repositories with some names, in small letters."""
    targets = tuple(target for target in pins.targets if target.repository.name.casefold() in names)
    # A label has the revision behind the name.
    failed = {label: reason for label, reason in pins.failed.items() if label.partition("@")[0].casefold() in names}
    return Pins(targets, failed)


def _at_revision(pins: Pins, revision: str) -> Pins:
    """Return the pins at a revision, without the repositories in which it can't be read."""
    targets: list[Target] = []
    failed = dict(pins.failed)
    for target in pins.targets:
        try:
            commit = resolve(target.repository, revision)
        except SourcelightError as exc:
            failed[target.repository.name] = str(exc)
        else:
            targets.append(replace(target, revision=revision, commit=commit))

    return Pins(tuple(targets), failed)


def _with_missing_names(pins: Pins, names: Sequence[str]) -> Pins:
    """Return pins with a reason for each repository that was named and is neither pinned nor failed."""
    present = {name.casefold() for name in (*(pin.repository for pin in pins), *pins.failed)}
    missing = [name for name in names if name.casefold() not in present]
    return Pins(pins.targets, {**pins.failed, **dict.fromkeys(missing, "no repository of this name can be searched")})


def _require_pins(pins: Pins, filters: str) -> Pins:
    """Return the pins; raises `ToolError` if there are none."""
    if pins.targets:
        return pins

    reasons = "; ".join(f"{name}: {reason}" for name, reason in sorted(pins.failed.items()))
    of_filters = f" for {filters}" if filters else ""
    because = f" ({reasons})" if reasons else ""
    raise ToolError(
        f"no repository to search{of_filters}{because}; list_repos lists the repositories that can be searched",
        tool="deepsearch",
    )
