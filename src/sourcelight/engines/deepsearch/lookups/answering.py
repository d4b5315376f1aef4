"""Answer questions that lines of code or their blame answer: choose the engine, and leave the rest to the ranking.

The form of a question (`question.lookups`) has a kind, and each kind a function in the tables at the end. If it finds
nothing that its lines prove, the words of the question may describe a value, then a place. A sentence without its proof
is never stated: the ranking shows places instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sourcelight.core.errors import QueryError, RepositoryError, ToolError, UnsupportedTool
from sourcelight.core.markup import code, singular
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.claims import is_proven, without_secrets
from sourcelight.engines.deepsearch.evidence.model import FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import PathNames
from sourcelight.engines.deepsearch.lookups.absence.compounds import find_absent_compound
from sourcelight.engines.deepsearch.lookups.absence.mentions import find_mentions_alone
from sourcelight.engines.deepsearch.lookups.absence.names import WITHIN_NAMES, find_absence
from sourcelight.engines.deepsearch.lookups.absence.options import find_absent_option
from sourcelight.engines.deepsearch.lookups.builds.actions import find_actions
from sourcelight.engines.deepsearch.lookups.builds.answering import (
    find_build_field,
    find_package_answer,
    find_package_list,
    find_required_runtime,
)
from sourcelight.engines.deepsearch.lookups.builds.needs import find_need, find_worded_package
from sourcelight.engines.deepsearch.lookups.builds.options import find_option
from sourcelight.engines.deepsearch.lookups.builds.settings import find_key
from sourcelight.engines.deepsearch.lookups.calls.callees import find_callees, has_other_owner
from sourcelight.engines.deepsearch.lookups.calls.callers import find_callers
from sourcelight.engines.deepsearch.lookups.calls.template_uses import find_template, state_template_uses
from sourcelight.engines.deepsearch.lookups.calls.uses_by_form import find_lines_with_calls
from sourcelight.engines.deepsearch.lookups.classes import find_bases
from sourcelight.engines.deepsearch.lookups.comparison import (
    find_difference,
    find_lacking_parameter,
    find_parameters,
    find_purpose,
)
from sourcelight.engines.deepsearch.lookups.defaults import find_parameter_default, find_value
from sourcelight.engines.deepsearch.lookups.definitions.blocks import find_keys
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, is_of_kind, is_renamed
from sourcelight.engines.deepsearch.lookups.definitions.search import (
    find_definitions,
    split_name,
    state_alias,
    state_definitions,
)
from sourcelight.engines.deepsearch.lookups.described_places.answer import find_described_name, find_described_place
from sourcelight.engines.deepsearch.lookups.environment import find_variable, list_environment
from sourcelight.engines.deepsearch.lookups.initial_values import (
    are_calls_in_scope,
    find_assigned_value,
    find_constant_of,
    find_initial_value,
    find_parameter_of,
    is_file,
    is_in_scope,
)
from sourcelight.engines.deepsearch.lookups.members import find_members, find_worded_members
from sourcelight.engines.deepsearch.lookups.named_files import find_defining_line, find_imports, find_line_author
from sourcelight.engines.deepsearch.lookups.project.answering import find_project, project_topic
from sourcelight.engines.deepsearch.lookups.prose_values.answer import find_prose_value
from sourcelight.engines.deepsearch.lookups.scoped_values.answer import (
    find_declared_default,
    find_scoped_value,
    find_worded_default,
)
from sourcelight.engines.deepsearch.lookups.scoped_values.holders import is_file_word, scope_words
from sourcelight.engines.deepsearch.lookups.setting_defaults import find_any_default, find_setting, is_set_otherwise
from sourcelight.engines.deepsearch.lookups.throws import find_throws
from sourcelight.engines.deepsearch.lookups.uses import find_configured, find_example, find_key_uses, find_tests
from sourcelight.engines.deepsearch.lookups.value_lines.answer import find_described_value
from sourcelight.engines.deepsearch.question.lookups import Lookup, read_lookup
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest
from sourcelight.engines.deepsearch.source.line_kinds import LISPS

_PLAIN_WORD = re.compile(r"[a-z]+")
_OPEN_LITERAL = re.compile(r" is set to `+ ?[\[{(#]")
_SET_ONCE = re.compile(r" is set to `+ ?(?![\w.:]+\()(?!.*; other lines of the file set it)")
"""The beginning of a value that isn't made by a call, where no other line of the file sets one."""
_OF_KEY = re.compile(r"(?i)`(\w+)` is set to `+ ?[\"':]\1[\"']?`")
"""A constant whose text is its own name, which is the key of a setting and no default of it."""
_SCOPE = re.compile(r"^[gbtw]:(?=[A-Za-z_]\w*$)")
_OF_TEMPLATE = re.compile(r" is (?:set to )?`+ ?[\"']?(?:\{\{-? ?[.$\w]*[A-Za-z_][^`]*\}\}|<%=?[^`]*%>)[\"']? ?`+, in ")
"""A value that is filled in when a template is rendered."""
_WITHOUT_VALUE = re.compile(r"`[^`]+` has no |No |`[^`]+` is defined in ")


def find_lookup(inquiry: ResearchRequest, emit: Emit) -> Finding | None:
    """Answer a question by lines that prove the answer; None if it asks for none, or none proves it."""
    topic = project_topic(inquiry)
    lookup = None if topic else read_lookup(inquiry.words)
    if lookup is not None and lookup.kind == "default" and _SCOPE.match(lookup.name) is not None:
        # A scope of Vim isn't part of the key that its default is looked up by.
        name = _SCOPE.sub("", lookup.name)
        inquiry = inquiry.with_words(inquiry.words.replace(lookup.name, name))
        lookup = replace(lookup, name=name)

    work = Work(FactRequest("lookup"), inquiry, emit)
    try:
        finding = _find(lookup, work) if lookup is not None else None
        if topic:
            finding = find_project(topic, work)
        elif finding is None or finding.is_negative or _WITHOUT_VALUE.match(finding.headline.text) is not None:
            # Its own words may describe a value that no form of a question found.
            name = lookup.name if lookup is not None and lookup.kind in {"value", "configured"} else ""
            is_default = lookup is not None and lookup.kind == "default"
            owner = lookup.owner if lookup is not None and is_default else ""
            setting = lookup.name if lookup is not None and is_default and not lookup.is_prose else ""
            # "Which tests use X" and "on which line is max_size defined" ask for no value.
            is_of_place = lookup is not None and lookup.is_of_place
            described = find_prose_value(work, name, owner, setting) if not is_of_place else None
            # A constant that has a definition isn't the member that is spelled alike: MONTHS isn't `months`.
            if described is not None and finding is not None and not finding.is_negative and name:
                described = None if _is_of_other_case(described, name) else described
            finding = described or finding
            if lookup is not None and is_default and finding is None:
                finding = _find_default_in_place(work, lookup)
            # "Which climate is used by default" asks for no dependency of anything.
            is_of_default = _BY_DEFAULT.search(work.inquiry.words) is not None
            is_no_package = lookup is not None and lookup.kind == "dependency" and is_of_default
            if lookup is None or lookup.kind in _VALUES or is_no_package:
                finding = finding or find_described_value(work)
        if finding is None and lookup is not None and lookup.kind in _OF_NAMES and lookup.owner:
            finding = _find_in_words(lookup, work)
        finding = finding or find_worded_package(work.without_notes())
        if lookup is not None and not lookup.owner and is_set_otherwise(work, lookup.name, finding):
            return None
        # A sentence without its proof is not stated: the ranking shows the places instead.
        is_filled_in = finding is not None and _OF_TEMPLATE.search(finding.headline.text) is not None
        if finding is None or is_filled_in or not is_proven(finding):
            finding = find_absent_option(work) or _find_described(work.without_notes()) or find_mentions_alone(work)
            finding = finding or find_absent_compound(work)
        return without_secrets(finding) if finding is not None and is_proven(finding) else None
    except (ToolError, QueryError, RepositoryError, UnsupportedTool):
        inquiry.context.cancellation.check()
        return None


def _find_in_words(lookup: Lookup, work: Work) -> Finding | None:
    """Return the only value of a name that is no word of prose, in a file that has a word of what the question says."""
    words = [word for word in scope_words(lookup.owner) if not is_file_word(word)]
    if _PLAIN_WORD.fullmatch(lookup.name) is not None or not words or not all(word.islower() for word in words):
        return None

    free = replace(lookup, owner="")
    finding = _find(free, work) or (_find_default_in_place(work, free) if free.kind == "default" else None)
    if finding is None or finding.is_negative or _WITHOUT_VALUE.match(finding.headline.text) is not None:
        return None
    path = "".join(item.path for item in finding.headline.evidence[:1] if isinstance(item, FileEvidence)).lower()
    words += ["config", "makefile", ".mk"] if not _BUILD_WORDS.isdisjoint(words) else []
    return finding if any(word in path for word in words) else None


def _find_described(work: Work) -> Finding | None:
    """Return the place that a question describes, or the lines that call the function that it describes."""
    name = find_described_name(work)
    if not name:
        return find_described_place(work)
    return _find_named(Lookup("callers", name), work)


def _find_default_in_place(work: Work, lookup: Lookup) -> Finding | None:
    """Return the default that the place of a question gives a name; without a place, what all declarations give it."""
    if lookup.is_prose:
        return find_worded_default(work, lookup.name, lookup.owner) if not lookup.bound else None
    if lookup.owner:
        return find_scoped_value(work.without_notes(), lookup.name, lookup.owner, [], is_default=True)
    default = find_declared_default(work.without_notes(), lookup.name, [])
    # A variable of a build that has one value alone: `PREFIX = /usr/local`.
    is_of_build = default is None and re.fullmatch(r"[A-Z][A-Z\d_]{2,60}", lookup.name) is not None
    return find_scoped_value(work.without_notes(), lookup.name, "", []) if is_of_build else default


def _find(lookup: Lookup, work: Work) -> Finding | None:
    template = find_template(work, lookup.name) if lookup.kind == "callers" and not lookup.owner else None
    if template is not None:
        return state_template_uses(work, template)
    find = _WITHOUT_DEFINITION.get(lookup.kind)
    return _find_named(lookup, work) if find is None else find(lookup, work)


def _find_named(lookup: Lookup, work: Work) -> Finding | None:
    queries: list[str] = []
    if lookup.name.startswith("$") and not find_definitions(work.without_notes(), lookup.name, [], unparsed=True):
        # A sign of Perl or PHP isn't a part of the name.
        lookup = replace(lookup, name=lookup.name.lstrip("$"))

    definitions = find_definitions(work, lookup.name, queries, symbol_kind=lookup.symbol_kind, unparsed=True)
    if lookup.kind == "callers" and is_file(lookup.owner):
        return find_lines_with_calls(work, definitions, split_name(lookup.name)[1], path=lookup.owner.strip("`"))
    if lookup.owner and lookup.kind in {"value", "definition"}:
        # Another definition of the name isn't the one that is asked about.
        definitions = [
            location
            for location in definitions
            if is_in_scope(location.path, location.definition.container, lookup.owner)
        ]

    # A type of the name is no module.
    is_module = any(item.definition.kind in _OF_MODULES for item in definitions)
    is_other = (lookup.symbol_kind in _OF_MODULES and not is_module) or _is_word_of_prose(lookup, work, definitions)
    if not definitions or is_other:
        return None if definitions else _find_undefined(lookup, work, queries)
    if lookup.kind == "value" and lookup.owner:
        # What the place has there, rather than where the name is defined.
        value = find_value(work, definitions, lookup.name, queries)
        return value or find_scoped_value(work, lookup.name, lookup.owner, queries)

    if lookup.kind == "value" and _PLAIN_WORD.fullmatch(lookup.name):
        # "What is timeout set to": a function of a plain word is no value, and neither is a variable of a test.
        locations = [location for location in definitions if location.rank.is_code]
        return find_value(work, locations, lookup.name, queries) if locations else None

    find = _OF_DEFINITION.get(lookup.kind)
    if lookup.kind == "callers" and lookup.owner:
        # A scope that has a definition of the name tells which one is meant.
        within = [item for item in definitions if is_in_scope(item.path, item.definition.container, lookup.owner)]
        definitions = within or definitions

    if find is not None:
        finding = find(work, definitions, lookup.name, queries)
        is_of_others = lookup.kind == "callers" and (
            has_other_owner(finding, lookup.name) or not are_calls_in_scope(work, finding, definitions, lookup)
        )
        return None if is_of_others else finding

    finding = state_definitions(work, lookup.name, definitions, queries)
    if lookup.kind == "existence" and is_of_kind(work, definitions[0], lookup.symbol_kind):
        finding.headline = Statement(f"Yes: {finding.headline.text}", finding.headline.evidence)

    return finding


_WHICH_FILE = re.compile(r"\W*(?:in )?(?:which|what) (?:source )?(?:file|module)\b", re.IGNORECASE)
_OF_OWNERS = frozenset({"constant", "field", "property", "enummember", "key", "parameter", "variable"})
"""Kinds of what belongs to something else, which no file is about."""


def _is_word_of_prose(lookup: Lookup, work: Work, definitions: Sequence[DefinitionLocation]) -> bool:
    """Return whether a word says what is sought, and what is called so is of another kind: "the color functions"."""
    if lookup.kind != "definition" or not definitions or not lookup.name.islower():
        return False
    if all(is_renamed(work, location) for location in definitions):
        return True
    if f"`{lookup.name}`" in work.inquiry.question:
        return False
    if _WHICH_FILE.match(work.inquiry.question) is not None and definitions[0].definition.kind in _OF_OWNERS:
        return True
    if _PLAIN_WORD.fullmatch(lookup.name) is None:
        return False
    is_of_noun = any(is_of_kind(work, location, lookup.symbol_kind) for location in definitions)
    is_plural = singular(lookup.symbol_kind) != lookup.symbol_kind
    return bool(lookup.symbol_kind) and (is_plural or not is_of_noun)


def _find_undefined(lookup: Lookup, work: Work, queries: list[str]) -> Finding | None:
    """Return the value of a name that nothing defines where the question asks for it, or that it occurs nowhere."""
    if lookup.kind == "definition":
        is_key = not lookup.owner and _PLAIN_WORD.fullmatch(lookup.name) is None
        keys = find_keys(work, lookup.name) if is_key else []
        if lookup.owner or keys:
            return state_definitions(work, lookup.name, keys, queries) if keys else None
    if lookup.owner and lookup.kind == "value":
        assigned = find_assigned_value(work, lookup.name, lookup.owner, queries)
        assigned = assigned or find_key(work, lookup.name, lookup.owner)
        return assigned or find_scoped_value(work, lookup.name, lookup.owner, queries)

    if lookup.kind == "value" and not _PLAIN_WORD.fullmatch(lookup.name):
        assigned_value = find_assigned_value(work, lookup.name, "", queries)
        assigned_value = assigned_value or find_scoped_value(work, lookup.name, "", queries)
        if assigned_value is not None:
            return assigned_value

    if lookup.kind == "callers":
        # Where no form of a definition is known, a call still has one.
        callers = find_lines_with_calls(work, [], lookup.name)
        if callers is None and not lookup.owner and not _PLAIN_WORD.fullmatch(lookup.name):
            # What is registered, emitted or handled may have its name in quotation marks alone.
            callers = find_key_uses(work, lookup.name, of_calls=True)
        if callers is not None and are_calls_in_scope(work, callers, [], lookup):
            return callers

    # A missing word of prose proves nothing: "where is authentication implemented?"
    if _PLAIN_WORD.fullmatch(lookup.name) and not (lookup.kind == "existence" or lookup.symbol_kind):
        return None

    find = _OF_DEFINITION.get(lookup.kind)
    absence = find_absence(work, lookup.name, noun=lookup.symbol_kind if find is None else "")
    # A question about a definition is left to the ranking if the name occurs without one.
    is_left = find is not None and absence is not None and bool(absence.headline.evidence)
    return None if is_left and absence is not None and WITHIN_NAMES not in absence.headline.text else absence


def _find_default(lookup: Lookup, work: Work) -> Finding | None:  # noqa: PLR0911 - one for each kind
    queries: list[str] = []
    if (option := find_option(work, lookup.name, lookup.owner, queries)) is not None:
        return option

    if lookup.is_prose or " " in lookup.name:
        # A setting may be written with a space, in quotation marks.
        may_be_quoted = " " in lookup.name and not lookup.bound
        quoted = find_setting(work, lookup.name, lookup.owner, queries) if may_be_quoted else None
        return quoted or _find_in_prose(lookup, work, queries)

    if lookup.owner:
        return _find_owned_default(lookup, work, queries)

    setting = find_setting(work, lookup.name, "", queries) or find_initial_value(work, lookup.name, "", queries)
    if setting is not None and _is_of_other_case(setting, lookup.name):
        setting = None if find_definitions(work.without_notes(), lookup.name, [], unparsed=True) else setting

    # One call may set a value for its own case, while a function has another default.
    is_of_call = setting is not None and setting.headline.text.startswith(f"{code(lookup.name)} is set to")
    if setting is not None and not is_of_call:
        return setting

    common_default = find_any_default(work, lookup.name, queries) or setting
    if common_default is not None or re.fullmatch(r"[A-Za-z_$*][\w$.*-]*", lookup.name) is None:
        return common_default

    definitions = find_definitions(work, lookup.name, queries)
    unparsed = [] if definitions else find_definitions(work, lookup.name, queries, unparsed=True)
    # What a test or an example sets for itself is no default.
    of_project = [location for location in definitions or unparsed if location.rank.is_of_project]
    if unparsed and of_project:
        # What replaces an absent value says more than an assignment: `let g:size = get(g:, 'size', 2)`.
        replaced = find_prose_value(work, "", "", lookup.name)
        replaced = None if replaced is not None and _is_of_other_case(replaced, lookup.name) else replaced
        value = replaced or find_value(work, of_project, lookup.name, queries)
        # A variable that other lines set too, or that a call sets, has no default there, unless a Lisp defines it.
        is_lisp = all(language_of(location.path) in LISPS for location in of_project)
        is_set = value is not None and _SET_ONCE.search(value.headline.text) is not None
        # A word alone, and a literal of several parts: one program's registry is no default one.
        is_part = _PLAIN_WORD.fullmatch(lookup.name) and value and _OPEN_LITERAL.search(value.headline.text)
        return value if not is_part and (is_lisp or is_set or replaced is not None) else None

    if _PLAIN_WORD.fullmatch(lookup.name) or (unparsed and not of_project):
        return None
    if of_project:
        value = find_value(work, of_project, lookup.name, queries)
        return value if value is not None and _OF_KEY.match(value.headline.text) is None else None
    absence = find_absence(work, lookup.name) if not definitions else None
    return absence if absence is not None and not absence.headline.evidence else None


def _find_owned_default(lookup: Lookup, work: Work, queries: list[str]) -> Finding | None:
    """Return the default of a parameter, a setting or a member of what the question names."""
    owners = find_definitions(work, lookup.owner, queries, unparsed=True)
    finding = find_parameter_default(work, owners, lookup.name, lookup.owner, queries) if owners else None
    finding = finding or find_setting(work, lookup.name, lookup.owner, queries)
    finding = finding or find_initial_value(work, lookup.name, lookup.owner, queries)
    if finding is None and is_file_word(lookup.owner):
        finding = find_scoped_value(work, lookup.name, lookup.owner, queries, is_default=True)
    if finding is not None:
        return finding
    if owners:
        return find_lacking_parameter(work, owners, lookup.name, queries)
    return find_any_default(work, lookup.name, queries, scope=lookup.owner)


def _is_of_other_case(finding: Finding, name: str) -> bool:
    """Return whether a sentence is about a name that differs in its case alone, such as `nlines` for NLINES."""
    subject = re.search(r"`([^`]+)`", finding.headline.text)
    return subject is not None and subject[1] != name and subject[1].lower() == name.lower()


def _find_in_prose(lookup: Lookup, work: Work, queries: list[str]) -> Finding | None:
    """Find the default, or the greatest or least value, that prose names: "the default read buffer size"."""
    words = f"{lookup.bound} {lookup.name}".strip()
    if lookup.owner and (of_owner := find_parameter_of(work, words, lookup.owner, queries)) is not None:
        return of_owner
    finding = None if lookup.owner else find_constant_of(work, words, queries)
    return finding or find_initial_value(work, words, lookup.owner, queries)


def _find_field(lookup: Lookup, work: Work) -> Finding | None:
    """Return what build files have of a field; a key may be one of a manifest, of configuration or of code."""
    kind, name = lookup.symbol_kind, lookup.name
    if kind == "key":
        is_of_code = not lookup.owner and find_definitions(work, name, [])
        finding = None if is_of_code else find_key(work, name, lookup.owner)
        if finding is not None or lookup.owner:
            return finding
        return _find_named(replace(lookup, kind="value", symbol_kind=""), work)

    return find_build_field(lookup, work)


_VALUES = frozenset({"default", "value", "configured", "field", "runtime", "key"})
_BY_DEFAULT = re.compile(
    r"(?i)\b(?:by default|out of the box|(?:if|when|unless) (?:i|you|we|no|not|nothing|none))\b|\bgets?\W*$"
)
_OF_NAMES = frozenset({"default", "value", "configured"})
_BUILD_WORDS = frozenset({"make", "makefile", "build", "install"})
_OF_MODULES = frozenset({"module", "modules", "namespace", "package"})
_WITHOUT_DEFINITION: Mapping[str, Callable[[Lookup, Work], Finding | None]] = {
    "line": lambda lookup, work: find_line_author(work, PathNames(work.inquiry), lookup.path, lookup.line),
    "defining_line": lambda lookup, work: find_defining_line(work, lookup.name),
    "imports": find_imports,
    "dependency": find_package_answer,
    "field": _find_field,
    "worded_members": lambda lookup, work: find_worded_members(work, lookup.name),
    "dependencies": find_package_list,
    "needs": find_need,
    "actions": lambda lookup, work: find_actions(work, lookup.group, lookup.name),
    "environment": lambda _, work: list_environment(work),
    "variable": lambda lookup, work: find_variable(work, lookup.name),
    "throws": lambda lookup, work: find_throws(work, lookup.name),
    "runtime": find_required_runtime,
    "default": _find_default,
    "difference": lambda lookup, work: find_difference(work, lookup.name, lookup.owner),
    "key": lambda lookup, work: find_key_uses(work, lookup.name),
    "configured": lambda lookup, work: (
        find_configured(work, lookup.name) or _find_named(replace(lookup, kind="value"), work)
    ),
}
"""Functions that answer questions that aren't about one definition, by kind."""

_OF_DEFINITION: Mapping[str, Callable[[Work, list[DefinitionLocation], str, list[str]], Finding | None]] = {
    "callers": lambda work, locations, name, _: find_callers(work, locations, name),
    "callees": lambda work, locations, name, _: find_callees(work, locations, name),
    "bases": find_bases,
    "members": find_members,
    "tests": lambda work, locations, name, _: find_tests(work, locations, name),
    "example": lambda work, locations, name, _: find_example(work, locations, name),
    "purpose": find_purpose,
    "parameters": find_parameters,
    "value": lambda work, locations, name, queries: (
        find_value(work, locations, name, queries)
        or find_purpose(work, locations, name, queries)
        or state_alias(work, name, locations, queries)
        or state_definitions(work, name, locations, queries)
    ),
}
"""Functions that answer questions about the definitions of a name, by kind."""
