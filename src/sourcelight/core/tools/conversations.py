"""Deep search as tools: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, field

from sourcelight.core.batches.schema import Column
from sourcelight.core.tools.tool import Arguments, Limit, McpText, Scope, Text, Tool, client_only, describe

_UNSAID = "not provided by the service"
_OTHER = "another type of source"

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "conversation": (
        Column("question_number", "int32", "1-based number of the question in the conversation"),
        Column("question", "dict32", "the question"),
        Column("type", "dict8", "search, repository, file, commit, or unknown for a source without a match"),
        Column("label", "string", "name of the source to display"),
        Column("link", "string", "its address, relative to the service where that is not known"),
        Column("repository", "dict32", "name of the repository", _OTHER),
        Column("commit", "dict32", "commit, 40 hex digits", _OTHER),
        Column("path", "string", "path in the repository", _OTHER),
        Column("start_line", "int32", "1-based first line", _OTHER),
        Column("end_line", "int32", "1-based last line", _OTHER),
        Column("role", "dict8", "definition, body, usage, test, doc, history or read", f"{_OTHER}, or {_UNSAID}"),
        Column(
            "status", "dict8", "verified, moved or rejected: how the citation's check ended", f"{_OTHER}, or {_UNSAID}"
        ),
    ),
    "conversations": (
        Column("id", "int64", "number of the conversation, for its owner", "the service gives it no number"),
        Column("title", "string", "its title"),
        Column("status", "dict8", "state of its last question", _UNSAID),
        Column("questions", "int32", "how many questions", _UNSAID, unit="questions"),
        Column("starred", "bool", "whether its owner starred it", _UNSAID),
        Column("shared", "bool", "whether its link can be read by others", _UNSAID),
        Column("created_at", "timestamp", "when it was opened, UTC"),
        Column("updated_at", "timestamp", "when it last changed, UTC"),
        Column("url", "string", "its address"),
    ),
}


SCOPE = frozenset({"repos", "revision"})
"""Arguments for the scope. Only services of this package take them; others read filters in the question."""

_Repos: TypeAlias = Annotated[
    tuple[Text, ...] | None,
    client_only("Names of the repositories to look into; without it: all."),
]
_Revision: TypeAlias = Annotated[
    Text | None,
    client_only("Branch, tag or commit of them; without it: their default branches."),
]


class DeepSearchArguments(Arguments, frozen=True):
    """Arguments of `deepsearch`."""

    question: Annotated[
        Text,
        describe(
            "A detailed question about one matter, with the names of repositories, files or functions that are known."
        ),
    ]
    repos: _Repos = None
    revision: _Revision = None


class DeepSearchReadArguments(Arguments, frozen=True):
    """Arguments of `deepsearch_read`."""

    identifier: Annotated[
        Text,
        Meta(description="Address of the conversation, or its read token."),
    ]


_Identifier: TypeAlias = Annotated[Text, Meta(description="Address, read token or number of the conversation.")]


class DeepSearchFollowUpArguments(Arguments, frozen=True):
    """Arguments of `deepsearch_follow_up`."""

    identifier: _Identifier
    question: Annotated[Text, Meta(description="The next question.")]
    repos: _Repos = None
    revision: _Revision = None


class DeepSearchChangeArguments(Arguments, frozen=True):
    """Arguments of `deepsearch_change`."""

    identifier: _Identifier
    title: Annotated[Text | None, Meta(description="New title.")] = None
    starred: Annotated[bool | None, Meta(description="Whether it is starred.")] = None
    shared: Annotated[bool | None, Meta(description="Whether everyone with its link may read it.")] = None
    reset_link: Annotated[bool | None, Meta(description="Replace its link; the former one stops working.")] = field(
        default=None, name="reset_link"
    )
    cancel: Annotated[bool | None, Meta(description="Cancel the running question.")] = None
    delete: Annotated[bool | None, Meta(description="Delete it.")] = None


class DeepSearchListArguments(Arguments, frozen=True):
    """Arguments of `deepsearch_list`."""

    text: Annotated[str | None, Meta(description="Text in a title, a question or an answer; empty: all.")] = None
    starred: Annotated[bool | None, Meta(description="true: only starred ones; false: only others.")] = None
    limit: Annotated[Annotated[Limit, Meta(le=1000)] | None, Meta(description="Maximum number; default 50.")] = None
    skip: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="Conversations to skip at the start.")] = None


DEEPSEARCH = Tool(
    name="deepsearch",
    arguments=DeepSearchArguments,
    columns="conversation",
    scope=Scope.CONVERSATION,
    mcp=McpText(
        "Ask about the code",
        "Ask a question in plain language; several searches research it, and the answer has links. It opens a "
        "conversation and takes seconds to minutes: an unfinished answer is read later with deepsearch_read. Use it "
        "for what needs many searches, not for one; name repositories. Example: question How does owner/name retry "
        "failed requests?",
        read_only=False,
    ),
)
DEEPSEARCH_READ = Tool(
    name="deepsearch_read",
    arguments=DeepSearchReadArguments,
    columns="conversation",
    scope=Scope.CONVERSATION,
    mcp=McpText(
        "Read a deep search conversation",
        "Read questions, answers and sources of a deepsearch conversation. Use it for an unfinished answer; not to "
        "ask. Example: identifier as returned by deepsearch.",
    ),
)
DEEPSEARCH_FOLLOW_UP = Tool(
    name="deepsearch_follow_up", arguments=DeepSearchFollowUpArguments, columns="conversation", scope=Scope.CONVERSATION
)
DEEPSEARCH_CHANGE = Tool(
    name="deepsearch_change", arguments=DeepSearchChangeArguments, columns="conversation", scope=Scope.CONVERSATION
)
DEEPSEARCH_LIST = Tool(
    name="deepsearch_list", arguments=DeepSearchListArguments, columns="conversations", scope=Scope.CONVERSATION
)

TOOLS: tuple[Tool[Any], ...] = (
    DEEPSEARCH,
    DEEPSEARCH_READ,
    DEEPSEARCH_FOLLOW_UP,
    DEEPSEARCH_CHANGE,
    DEEPSEARCH_LIST,
)
