"""Calls of tools and analyses over several services.

A call about one repository is answered by the first service that has what it names. A call over many is asked of all
services that have some of them, and the definition of the tool says how their tables become one. Deep search is
refused: several answers can't be made one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.client.federation.fan_out import (
    ServiceReply,
    SummedProgress,
    answers,
    ask_all,
    call_one,
    did_not_answer,
    page_of,
    repositories_at,
)
from sourcelight.client.federation.service import Service
from sourcelight.core.batches.columns import add_service
from sourcelight.core.batches.persons import Pair, person_key
from sourcelight.core.batches.results import CallObserver, ToolProgress, ToolResult
from sourcelight.core.errors import (
    PathNotFound,
    RepositoryNotFound,
    RevisionNotFound,
    SourcelightError,
    ToolError,
    UnsupportedTool,
)
from sourcelight.core.tools.catalog import COLUMNS, TOOLS, find_tool, is_conversation
from sourcelight.core.tools.files import UNPARSED
from sourcelight.core.tools.merge import Merge
from sourcelight.core.tools.navigation import GO_TO_DEFINITION
from sourcelight.core.tools.tool import Scope, Tool, WireArguments

_NEXT = (RepositoryNotFound, RevisionNotFound, PathNotFound, UnsupportedTool)
_CURSOR = "~"


class FederatedTools:
    """Answers calls for a federation.

    Parameters
    ----------
    services
        What is asked, in the order that decides between equals.
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
            What the service that has the repository says; where all are asked, the fault of the first if all fail.
        """
        tool = TOOLS.get(name)
        if is_conversation(name):
            return await self._conversation(name, arguments, observer)
        if "repo" in arguments:
            return await self._of_one(find_tool(name), arguments, observer)
        if tool is not None and tool.scope is Scope.CATALOG:
            return await self._list_repositories(arguments, observer)
        if tool is None or tool.merge is None:
            offered = [each.name for each in TOOLS.values() if each.merge is not None or each.scope is Scope.CATALOG]
            message = f"a federation has no call {name!r} over all repositories; it has {', '.join(offered)}"
            raise UnsupportedTool(message, tool=name)
        return await self._of_many(tool, arguments, tool.merge, observer)

    async def _conversation(self, name: str, arguments: WireArguments, observer: CallObserver | None) -> ToolResult:
        identifier = str(arguments.get("identifier") or "")
        for service in self._services:
            if "://" in service.backend.name and identifier.startswith(f"{service.backend.name}/"):
                return await service.backend.call(name, arguments, observer)
        first = self._services[0].name
        names = ", ".join(service.name for service in self._services)
        raise UnsupportedTool(
            f"{name} asks one service, and a federation has several ({names}): call it of a client of one of them, "
            f"such as code.services[{first!r}].{name}(…)",
            tool=name,
        )

    async def _of_one(self, tool: Tool[Any], arguments: WireArguments, observer: CallObserver | None) -> ToolResult:
        name = tool.name
        services, service_arguments = self._services, dict(arguments)
        if _CURSOR in str(service_arguments.get("after", "")):
            owner, _, service_arguments["after"] = str(service_arguments["after"]).rpartition(_CURSOR)
            # A cursor belongs to the service that made it.
            services = tuple(service for service in services if service.name == owner)
            if not services:
                raise ToolError(f"{name}: after belongs to an unknown service: {owner}", tool=name, argument="after")
        missing: list[SourcelightError] = []
        broken: list[tuple[Service, SourcelightError]] = []
        for service in services:
            try:
                answer = await call_one(
                    service, name, service_arguments, _labelling(observer, service.name), self._idle_timeout_s
                )
            except _NEXT as fault:
                missing.append(fault)
            except (ToolError, ValueError):
                raise
            except SourcelightError as fault:
                broken.append((service, fault))
            else:
                return self._by(service, tool, answer, broken)
        if broken:
            first = broken[0][1]
            for service, other in broken:
                first.add_note(f"{service.name}: {other}")
            raise first
        order = (RevisionNotFound, PathNotFound, UnsupportedTool, RepositoryNotFound)
        # The most specific reason: a service that knows the repository, but not the revision, says more than one that
        # knows neither.
        raise min(missing, key=lambda fault: next(at for at, kind in enumerate(order) if isinstance(fault, kind)))

    def _by(
        self, service: Service, tool: Tool[Any], answer: ToolResult, broken: Sequence[tuple[Service, SourcelightError]]
    ) -> ToolResult:
        """An answer of one service as the federation's."""
        facts = {**answer.attributes, "service": service.name}
        if facts.get("end_cursor"):
            facts["end_cursor"] = f"{service.name}{_CURSOR}{facts['end_cursor']}"
        notices = [*answer.notices, *(did_not_answer(one, fault) for one, fault in broken)]
        complete = answer.complete
        if tool.scope is Scope.SYMBOL and len(self._services) > 1:
            notices.append(f"Only repositories of {service.name} were searched: the other services don't support this.")
            complete = complete and tool is GO_TO_DEFINITION and bool(answer.table.num_rows)
        return ToolResult(answer.columns, add_service(answer.table, service.name), facts, complete, tuple(notices))

    async def _list_repositories(self, arguments: WireArguments, observer: CallObserver | None) -> ToolResult:
        service_arguments = {"query": arguments.get("query", "")}
        replies = await self._ask("list_repos", [(service, service_arguments) for service in self._services], observer)
        answered = [(one, answer) for one, answer in answers(replies) if answer.columns != UNPARSED]
        if not answered:
            return _merge_texts(replies)
        page, facts = page_of([(one.service.name, answer.table) for one, answer in answered], arguments)
        notices, complete = _notices(replies)
        facts = {
            "query": service_arguments["query"],
            **facts,
            "services": _states(replies, page.table, page.duplicates),
        }
        if page.cut and facts["has_next_page"]:
            many = f"{facts['total']:,} repositories have this in their name"
            notices.append(f"{many}; pass end_cursor as after for more.")
        return ToolResult("repository_list", page.table, facts, complete and not page.cut, tuple(notices))

    async def _of_many(
        self, tool: Tool[Any], arguments: WireArguments, merge: Merge, observer: CallObserver | None
    ) -> ToolResult:
        named = [str(one).strip("/") for one in arguments.get("repos") or ()]
        failed_replies: list[ServiceReply[Any]] = []
        plan = [(service, arguments) for service in self._services]
        if named or merge.exclusive:
            plan, failed_replies = await self._make_plan(arguments, named, exclusive=merge.exclusive)
        if len(plan) > 1:
            plan = [(service, merge.reword(service_arguments)) for service, service_arguments in plan]
        replies = [*await self._ask(tool.name, plan, observer), *failed_replies]
        answered = [(one, answer) for one, answer in answers(replies) if answer.columns != UNPARSED]
        if not answered:
            return _merge_texts(replies)
        if len(plan) > 1:
            parts = [(one.service.name, answer.table) for one, answer in answered]
            merged = merge.merge(parts, arguments, COLUMNS[tool.columns])
            table, duplicates, cut = merged.table, merged.duplicates, merged.cut
        else:
            ((one, answer),) = answered
            table, duplicates, cut = add_service(answer.table, one.service.name), {}, False
        notices, complete = _notices(replies)
        if merge.apart and len(plan) > 1:
            notices.append(f"{merge.apart[0].upper()}{merge.apart[1:]}.")
            complete = False
        if cut:
            notices.append(f"Only the first {table.num_rows:,} rows of all services are included, as requested.")
        facts = _facts([answer for _, answer in answered], arguments)
        if len(answered) > 1:
            facts = merge.restore(facts, arguments)
        if complete and not cut and "total" in facts and merge.total_is_rows:
            facts["total"] = table.num_rows
        facts["services"] = _states(replies, table, duplicates)
        return ToolResult(answered[0][1].columns, table, facts, complete and not cut, tuple(dict.fromkeys(notices)))

    async def _ask(
        self, name: str, plan: Sequence[tuple[Service, WireArguments]], observer: CallObserver | None
    ) -> list[ServiceReply[ToolResult]]:
        summed = SummedProgress(observer)
        arguments_by_service = {service.name: arguments for service, arguments in plan}

        async def ask(service: Service) -> ToolResult:
            on_progress = summed.of(service.name) if len(plan) > 1 else observer
            return await call_one(service, name, arguments_by_service[service.name], on_progress, self._idle_timeout_s)

        return await ask_all([service for service, _ in plan], ask)

    async def _make_plan(
        self, arguments: WireArguments, named: Sequence[str], *, exclusive: bool
    ) -> tuple[list[tuple[Service, WireArguments]], list[ServiceReply[Any]]]:
        """The repositories to request from each service, and the services that could not list theirs.

        Raises
        ------
        RepositoryNotFound
            For a name that no service has.
        """
        replies = await ask_all(self._services, lambda service: repositories_at(service, named))
        failed_replies = [one for one in replies if one.fault is not None]
        answered = [(one.service, one.value) for one in replies if one.value is not None]
        everywhere = {name for _, names in answered for name in names}
        unknown = [name for name in named if name not in everywhere]
        if unknown:
            raise (
                failed_replies[0].fault
                if failed_replies and failed_replies[0].fault
                else RepositoryNotFound(unknown[0])
            )
        assigned: set[str] = set()
        plan: list[tuple[Service, WireArguments]] = []
        for service, names in answered:
            # Sums must not count a repository twice that two services have: the first one has it.
            own = names - assigned if exclusive else names
            assigned |= own
            if named:
                chosen = [name for name in dict.fromkeys(named) if name in own]
                plan += [(service, {**arguments, "repos": chosen})] if chosen else []
            elif own == names:
                plan += [(service, arguments)] if own else []
            elif own:
                plan.append((service, {**arguments, "repos": sorted(own)}))
        return plan or [(service, arguments) for service, _ in answered[:1]], failed_replies


def _labelling(observer: CallObserver | None, name: str) -> CallObserver | None:
    """An observer that adds the service to each row."""
    if observer is None:
        return None

    def on_progress(at: ToolProgress) -> None:
        observer(at if at.rows is None else replace(at, rows=add_service(at.rows, name)))

    return on_progress


def _notices(replies: Sequence[ServiceReply[Any]]) -> tuple[list[str], bool]:
    """Notices of all services, and whether all answered in full."""
    answers = [(one.service.name, one.value) for one in replies if one.value is not None]
    every = set.intersection(*(set(answer.notices) for _, answer in answers)) if answers else set()
    notices = [notice for notice in answers[0][1].notices if notice in every] if answers else []
    notices += [f"{name}: {notice}" for name, answer in answers for notice in answer.notices if notice not in every]
    faults = [did_not_answer(one.service, one.fault) for one in replies if one.fault is not None]
    return [*notices, *faults], not faults and all(answer.complete for _, answer in answers)


def _merge_texts(replies: Sequence[ServiceReply[ToolResult]]) -> ToolResult:
    """The texts of services of which the client could parse none."""
    import pyarrow as pa

    tables = [add_service(answer.table, one.service.name) for one, answer in answers(replies)]
    notices, _ = _notices(replies)
    table = pa.concat_tables(tables).unify_dictionaries()
    return ToolResult(UNPARSED, table, {"services": _states(replies, table, {})}, False, tuple(notices))


def _states(replies: Sequence[ServiceReply[Any]], table: Any, duplicates: Mapping[str, int]) -> list[dict[str, Any]]:
    """What became of each service, as ``attrs["services"]`` has it."""
    owners = [name for value in table.column("service").to_pylist() for name in value.split(", ")]
    return [
        {
            "service": one.service.name,
            "endpoint": one.service.backend.name,
            "status": "failed" if one.value is None else "complete" if one.value.complete else "limited",
            "rows": owners.count(one.service.name),
            "duplicates": duplicates.get(one.service.name, 0),
            "elapsed_s": round(one.elapsed_s, 3),
            "error": "" if one.fault is None else str(one.fault),
        }
        for one in replies
    ]


def _facts(answers: Sequence[ToolResult], arguments: WireArguments) -> dict[str, Any]:
    """Attributes beside the rows: lists and dicts of all services, others from the first one."""
    facts = dict(answers[0].attributes)
    for answer in answers[1:]:
        for key, value in answer.attributes.items():
            facts[key] = _both(facts[key], value, total=key == "total") if key in facts else value
    if len(answers) > 1 and arguments.get("joinAddresses", True) is not False:
        aliases = _aliases(answers)
        facts |= {"aliases": aliases} if aliases else {}
    drill = facts.get("drill_down")
    if len(answers) > 1 and drill and "repos" in drill["arguments"]:
        # Not every service says where its numbers lead; all repositories that were asked about, they do.
        drill_arguments = {**drill["arguments"], "repos": list(arguments.get("repos") or ())}
        facts["drill_down"] = {**drill, "arguments": drill_arguments}
    return facts


def _aliases(answers: Sequence[ToolResult]) -> dict[str, list[str]]:
    """For people who write under several names with one address, all names, by each of them."""
    texts: dict[Pair, dict[str, None]] = {}
    for answer in answers:
        if {"author", "author_email"} <= set(answer.table.column_names):
            aliases = answer.attributes.get("aliases", {})
            columns = (answer.table.column(name).to_pylist() for name in ("author", "author_email"))
            for name, email in dict.fromkeys(zip(*columns, strict=True)):
                if email is not None:
                    text = f"{name} <{email}>"
                    texts.setdefault(person_key(name, email), {}).update(dict.fromkeys(aliases.get(text, [text])))
    return {text: list(group) for group in texts.values() if len(group) > 1 for text in group}


def _both(one: Any, other: Any, *, total: bool = False) -> Any:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**other, **{key: _both(value, other[key]) if key in other else value for key, value in one.items()}}
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *(value for value in other if value not in one)]
    return one + other if total and isinstance(one, int) and isinstance(other, int) else one
