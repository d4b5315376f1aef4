"""Merge the attributes of several services' answers: what ``attrs`` of a DataFrame say beside its rows.

Sums are added, lists and mappings united; of other values that of the first service stays. People who write under
several names with one address are put together over all services, as in a table of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.client.federation.fan_out import ServiceReply
from sourcelight.core.batches.persons import Pair, person_key
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.tool import WireArguments


def merge_attributes(answers: Sequence[ToolResult], arguments: WireArguments) -> dict[str, Any]:
    """Return the attributes beside the rows: lists and dicts of all services, others from the first one."""
    attributes = dict(answers[0].attributes)
    for answer in answers[1:]:
        for key, value in answer.attributes.items():
            if key not in attributes:
                attributes[key] = value
            elif key == "total" and isinstance(attributes[key], int) and isinstance(value, int):
                attributes[key] += value
            else:
                attributes[key] = _merge_values(attributes[key], value)

    if len(answers) > 1 and arguments.get("joinAddresses", True) is not False:
        aliases = _aliases(answers)
        if aliases:
            attributes["aliases"] = aliases

    drill = attributes.get("drill_down")
    if len(answers) > 1 and drill and "repos" in drill["arguments"]:
        # Not every service names the repositories behind its numbers; the request does.
        drill_arguments = {**drill["arguments"], "repos": list(arguments.get("repos") or ())}
        attributes["drill_down"] = {**drill, "arguments": drill_arguments}

    return attributes


def _aliases(answers: Sequence[ToolResult]) -> dict[str, list[str]]:
    """Return all names of people who write under several with one address, by each of these names."""
    # Dictionaries without values, as sets that keep the order.
    names_by_person: dict[Pair, dict[str, None]] = {}
    for answer in answers:
        if not {"author", "author_email"} <= set(answer.table.column_names):
            continue

        aliases = answer.attributes.get("aliases", {})
        authors = answer.table.column("author").to_pylist()
        emails = answer.table.column("author_email").to_pylist()
        for author, email in dict.fromkeys(zip(authors, emails, strict=True)):
            if email is not None:
                full_name = f"{author} <{email}>"
                names = names_by_person.setdefault(person_key(author, email), {})
                names.update(dict.fromkeys(aliases.get(full_name, [full_name])))

    all_aliases: dict[str, list[str]] = {}
    for names in names_by_person.values():
        if len(names) > 1:
            all_aliases |= {name: list(names) for name in names}
    return all_aliases


def _merge_values(first: Any, second: Any) -> Any:
    """Merge two values of an attribute: the keys of both mappings, the items of both lists, else the first value."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        merged = {**second, **first}
        for key in first.keys() & second.keys():
            merged[key] = _merge_values(first[key], second[key])
        return merged

    if isinstance(first, list) and isinstance(second, list):
        return [*first, *(value for value in second if value not in first)]
    return first


def service_states(
    replies: Sequence[ServiceReply[Any]], table: Any, duplicates: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return the outcome of each service, for ``attrs["services"]``."""
    rows: Counter[str] = Counter()
    for services in table.column("service").to_pylist():
        # A row that several services have names them all.
        rows.update(services.split(", "))

    states: list[dict[str, Any]] = []
    for reply in replies:
        name = reply.service.name
        states.append(
            {
                "service": name,
                "endpoint": reply.service.backend.name,
                "status": _status(reply),
                "rows": rows[name],
                "duplicates": duplicates.get(name, 0),
                "elapsed_s": round(reply.elapsed_s, 3),
                "error": "" if reply.error is None else str(reply.error),
            }
        )
    return states


def _status(reply: ServiceReply[Any]) -> str:
    if reply.value is None:
        return "failed"
    return "complete" if reply.value.complete else "limited"
