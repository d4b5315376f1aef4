"""Calls of tools and analyses over several services.

A call about one repository is answered by the first service that has it, its revision and path. A call about several
goes to all services that have some of them, and the tool's definition joins their tables. Deep search is refused:
several answers can't be made one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sourcelight.client.federation import fan_out
from sourcelight.client.federation.attributes import merge_attributes, service_states
from sourcelight.client.federation.service import Service
from sourcelight.core.batches.columns import add_service
from sourcelight.core.batches.results import CallObserver, ToolProgress, ToolResult
from sourcelight.core.errors import (
    PathNotFound,
    RepositoryNotFound,
    RevisionNotFound,
    SourcelightError,
    ToolError,
    UnsupportedTool,
)
from sourcelight.core.notices import same_kind
from sourcelight.core.tools.catalog import COLUMNS, TOOLS, find_tool, is_conversation
from sourcelight.core.tools.files import UNPARSED
from sourcelight.core.tools.merge import Merge, MergedTable
from sourcelight.core.tools.navigation import GO_TO_DEFINITION
from sourcelight.core.tools.tool import Scope, Tool, WireArguments

_BY_PRECISION = (RevisionNotFound, PathNotFound, UnsupportedTool, RepositoryNotFound)
"""Errors after which the next service is called; the most precise comes first."""

_CURSOR = "~"
"""Sign between the name of a service and its cursor, in the cursors of a federation."""

_Plan = list[tuple[Service, WireArguments]]
"""The services to call, each with its arguments."""


class FederatedTools:
    """Answers calls for a federation.

    Parameters
    ----------
    services
        Services, in the order that decides between equal rows.
    idle_timeout_s
        See `FederatedBackend`.
    """

    def __init__(self, services: Sequence[Service], *, idle_timeout_s: float) -> None:
        self._services = tuple(services)
        self._idle_timeout_s = idle_timeout_s

    async def answer(self, name: str, arguments: WireArguments, observer: CallObserver | None) -> ToolResult:
        """Answer a call.

        Raises
        ------
        UnsupportedTool
            For deep search, and for a call that is not known.
        SourcelightError
            The error of the service that has the repository; if all services are called and fail, the first error.
        """
        tool = TOOLS.get(name)
        if is_conversation(name):
            return await self._conversation(name, arguments, observer)
        if "repo" in arguments:
            return await self._call_one(find_tool(name), arguments, observer)
        if tool is not None and tool.scope is Scope.CATALOG:
            return await self._list_repositories(arguments, observer)

        if tool is None or tool.merge is None:
            names = [offered.name for offered in TOOLS.values() if offered.merge or offered.scope is Scope.CATALOG]
            message = f"a federation has no call {name!r} over all repositories; it has {', '.join(names)}"
            raise UnsupportedTool(message, tool=name)

        return await self._call_services(tool, arguments, tool.merge, observer)

    async def _conversation(self, name: str, arguments: WireArguments, observer: CallObserver | None) -> ToolResult:
        identifier = str(arguments.get("identifier") or "")
        for service in self._services:
            if "://" in service.backend.name and identifier.startswith(f"{service.backend.name}/"):
                return await service.backend.call(name, arguments, observer)

        first = self._services[0].name
        names = ", ".join(service.name for service in self._services)
        raise UnsupportedTool(
            f"{name} works on one service, and this federation has several ({names}): call it on one of them, "
            f"such as code.services[{first!r}].{name}(…)",
            tool=name,
        )

    async def _call_one(self, tool: Tool[Any], arguments: WireArguments, observer: CallObserver | None) -> ToolResult:
        name = tool.name
        services = self._services
        service_arguments = dict(arguments)
        cursor = str(arguments.get("after", ""))
        if _CURSOR in cursor:
            # A cursor belongs to the service that made it.
            owner, _, service_arguments["after"] = cursor.rpartition(_CURSOR)
            services = tuple(service for service in services if service.name == owner)
            if not services:
                raise ToolError(
                    f"{name}: after is a cursor of an unknown service: {owner}", tool=name, argument="after"
                )

        missing: list[SourcelightError] = []
        broken: list[tuple[Service, SourcelightError]] = []
        for service in services:
            labelling = _labelling(observer, service.name)
            try:
                answer = await fan_out.call_one(service, name, service_arguments, labelling, self._idle_timeout_s)
            except _BY_PRECISION as error:
                missing.append(error)
            except (ToolError, ValueError):
                raise
            except SourcelightError as error:
                broken.append((service, error))
            else:
                return self._by(service, tool, answer, broken)

        # A service that failed may have the repository, so that is what the caller has to know.
        if broken:
            _, first_error = broken[0]
            for service, broken_error in broken:
                first_error.add_note(f"{service.name}: {broken_error}")
            raise first_error

        raise _most_precise(missing)

    def _by(
        self, service: Service, tool: Tool[Any], answer: ToolResult, broken: Sequence[tuple[Service, SourcelightError]]
    ) -> ToolResult:
        """Return an answer of one service as the federation's."""
        attributes = {**answer.attributes, "service": service.name}
        if attributes.get("end_cursor"):
            attributes["end_cursor"] = f"{service.name}{_CURSOR}{attributes['end_cursor']}"

        notices = list(answer.notices)
        notices += [fan_out.did_not_answer(broken_service, error) for broken_service, error in broken]
        complete = answer.complete
        if tool.scope is Scope.SYMBOL and len(self._services) > 1:
            notices.append(f"Only repositories of {service.name} were searched: the other services don't support this.")
            complete = complete and tool is GO_TO_DEFINITION and bool(answer.table.num_rows)

        return ToolResult(
            columns=answer.columns,
            table=add_service(answer.table, service.name),
            attributes=attributes,
            complete=complete,
            notices=tuple(notices),
        )

    async def _list_repositories(self, arguments: WireArguments, observer: CallObserver | None) -> ToolResult:
        service_arguments = {"query": arguments.get("query", "")}
        replies = await self._ask("list_repos", [(service, service_arguments) for service in self._services], observer)
        replied = [(reply, answer) for reply, answer in fan_out.answers(replies) if answer.columns != UNPARSED]
        if not replied:
            return _merge_texts(replies)

        page, page_attributes = fan_out.page_of(
            [(reply.service.name, answer.table) for reply, answer in replied], arguments
        )
        attributes = {"query": service_arguments["query"]}
        attributes.update(page_attributes)
        attributes["services"] = service_states(replies, page.table, page.duplicates)

        notices, complete = _notices(replies)
        if page.is_cut and attributes["has_next_page"]:
            count = f"{attributes['total']:,} repositories have this in their name"
            notices.append(f"{count}; pass end_cursor as after for more.")

        return ToolResult(
            columns="repository_list",
            table=page.table,
            attributes=attributes,
            complete=complete and not page.is_cut,
            notices=tuple(notices),
        )

    async def _call_services(
        self, tool: Tool[Any], arguments: WireArguments, merge: Merge, observer: CallObserver | None
    ) -> ToolResult:
        requested_names = [str(name).strip("/") for name in arguments.get("repos") or ()]
        failed_replies: list[fan_out.ServiceReply[Any]] = []
        plan = [(service, arguments) for service in self._services]
        if requested_names or merge.exclusive:
            plan, failed_replies = await self._make_plan(arguments, requested_names, exclusive=merge.exclusive)

        asks_several = len(plan) > 1
        if asks_several:
            plan = [(service, merge.reword(service_arguments)) for service, service_arguments in plan]

        replies = await self._ask(tool.name, plan, observer)
        replies += failed_replies
        replied = [
            (reply.service.name, answer) for reply, answer in fan_out.answers(replies) if answer.columns != UNPARSED
        ]
        if not replied:
            return _merge_texts(replies)

        if asks_several:
            parts = [(service_name, answer.table) for service_name, answer in replied]
            merged = merge.merge(parts, arguments, COLUMNS[tool.columns])
        else:
            ((service_name, answer),) = replied
            merged = MergedTable(add_service(answer.table, service_name), {})

        notices, complete = _notices(replies)
        if merge.loss and asks_several:
            notices.append(f"{merge.loss[0].upper()}{merge.loss[1:]}.")
            complete = False

        row_count = merged.table.num_rows
        if merged.is_cut:
            notices.append(f"Only the first {row_count:,} rows of all services are included, as requested.")
            complete = False

        service_answers = [answer for _, answer in replied]
        attributes = merge_attributes(service_answers, arguments)
        if len(service_answers) > 1:
            attributes = merge.restore(attributes, arguments)
        if complete and "total" in attributes and merge.total_is_rows:
            attributes["total"] = row_count

        attributes["services"] = service_states(replies, merged.table, merged.duplicates)
        return ToolResult(
            columns=service_answers[0].columns,
            table=merged.table,
            attributes=attributes,
            complete=complete,
            notices=tuple(dict.fromkeys(notices)),
        )

    async def _ask(
        self, name: str, plan: Sequence[tuple[Service, WireArguments]], observer: CallObserver | None
    ) -> list[fan_out.ServiceReply[ToolResult]]:
        summed = fan_out.SummedProgress(observer)
        arguments_by_service = {service.name: arguments for service, arguments in plan}

        async def ask(service: Service) -> ToolResult:
            on_progress = summed.of(service.name) if len(plan) > 1 else observer
            return await fan_out.call_one(
                service, name, arguments_by_service[service.name], on_progress, self._idle_timeout_s
            )

        return await fan_out.ask_all([service for service, _ in plan], ask)

    async def _make_plan(
        self, arguments: WireArguments, requested_names: Sequence[str], *, exclusive: bool
    ) -> tuple[_Plan, list[fan_out.ServiceReply[Any]]]:
        """Return the repositories to request from each service, and the services that could not list theirs.

        Raises
        ------
        RepositoryNotFound
            For a name that no service has.
        """
        replies = await fan_out.ask_all(
            self._services, lambda service: fan_out.repositories_at(service, requested_names)
        )
        failed_replies = [reply for reply in replies if reply.error is not None]
        replied = [(reply.service, reply.value) for reply in replies if reply.value is not None]
        existing: set[str] = set()
        for _, names in replied:
            existing |= names
        unknown = [name for name in requested_names if name not in existing]
        if unknown:
            # A service that failed may have the repository.
            error = failed_replies[0].error if failed_replies else None
            raise error or RepositoryNotFound(unknown[0])

        assigned: set[str] = set()
        plan: _Plan = []
        for service, names in replied:
            # Sums must not count a repository twice that two services have: the first one has it.
            available = names - assigned if exclusive else names
            assigned |= available
            if requested_names:
                selected = [name for name in dict.fromkeys(requested_names) if name in available]
            else:
                selected = sorted(available)

            if not selected:
                continue
            # All that a service has need not be named.
            if not requested_names and available == names:
                plan.append((service, arguments))
            else:
                plan.append((service, {**arguments, "repos": selected}))

        # None has a repository: the first service that replied gives an empty table with its columns.
        if not plan:
            plan = [(service, arguments) for service, _ in replied[:1]]
        return plan, failed_replies


def _most_precise(errors: Sequence[SourcelightError]) -> SourcelightError:
    """Return the error that says most about why no service answered."""
    for kind in _BY_PRECISION:
        for error in errors:
            if isinstance(error, kind):
                return error
    return errors[0]


def _labelling(observer: CallObserver | None, name: str) -> CallObserver | None:
    """Return an observer that adds the service to each row."""
    if observer is None:
        return None

    def on_progress(event: ToolProgress) -> None:
        if event.rows is not None:
            event = replace(event, rows=add_service(event.rows, name))
        observer(event)

    return on_progress


def _notices(replies: Sequence[fan_out.ServiceReply[Any]]) -> tuple[list[str], bool]:
    """Return notices of all services, and whether all answered in full."""
    answers = [(reply.service.name, reply.value) for reply in replies if reply.value is not None]
    notices: list[str] = []
    common: set[str] = set()
    if answers:
        # What all services say is said once, without a name.
        _, first = answers[0]
        common.update(first.notices)
        for _, answer in answers:
            common.intersection_update(answer.notices)
        notices += [notice for notice in first.notices if notice in common]

    for name, answer in answers:
        notices += [same_kind(f"{name}: {notice}", notice) for notice in answer.notices if notice not in common]

    failures = [fan_out.did_not_answer(reply.service, reply.error) for reply in replies if reply.error is not None]
    is_complete = not failures and all(answer.complete for _, answer in answers)
    return [*notices, *failures], is_complete


def _merge_texts(replies: Sequence[fan_out.ServiceReply[ToolResult]]) -> ToolResult:
    """Return the error texts of services if none could be parsed."""
    import pyarrow as pa

    tables = [add_service(answer.table, reply.service.name) for reply, answer in fan_out.answers(replies)]
    notices, _ = _notices(replies)
    table = pa.concat_tables(tables).unify_dictionaries()
    return ToolResult(
        columns=UNPARSED,
        table=table,
        attributes={"services": service_states(replies, table, {})},
        complete=False,
        notices=tuple(notices),
    )
