"""The answer of deep search: Markdown with checked citations, and the conversation it belongs to.

Answers are stored on disk by question and pinned commits, so that a notebook can run again without asking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sourcelight.client.portal import call
from sourcelight.client.provenance import now, provenance
from sourcelight.client.service_tools import file_links, save_links
from sourcelight.core.arguments import checks_methods
from sourcelight.core.backend import Backend
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.former_names import refuses_former_names
from sourcelight.core.tools.catalog import COLUMNS, table_of_rows
from sourcelight.display.frames.export import text_or_path
from sourcelight.display.notebook.answer_html import AnswerView, answer_html, answer_markdown, answer_page, answer_text
from sourcelight.display.notebook.frame_views import links_of
from sourcelight.display.notebook.views.links import LinkResolver

if TYPE_CHECKING:
    from pandas import DataFrame


_STATUS = {"completed": "complete", "error": "failed", "canceled": "interrupted", "pending": "running",
           "processing": "running"}  # fmt: skip
"""Status of an answer by the state of a question on the wire; of any other state, ``complete``."""

_CITED = ("file", "commit", "unknown")
"""Types of sources that a sentence may cite; ``unknown`` is a citation that couldn't be read."""

_RESTORED = (
    "question", "answer", "status", "state", "sources", "rejected", "suggested_followups", "tables", "stats", "error",
    "pins", "researcher", "model",
)  # fmt: skip
"""Keys of a question that an answer keeps, and that are stored with it."""


class Asker(Protocol):
    """The client that an answer needs for follow-ups."""

    @property
    def backend(self) -> Backend:
        """The backend."""

    async def deepsearch(self, question: str, *, conversation: DeepSearchAnswer | str | None = None) -> Any:
        """Ask a question in a conversation."""

    async def _deepsearch_change(self, conversation: DeepSearchAnswer | str, **changes: Any) -> Mapping[str, Any]:
        """Change a conversation."""


@refuses_former_names("DeepSearchAnswer")
@checks_methods
class DeepSearchAnswer:
    """An answer of deep search, or a whole conversation; made by a client, never by hand.

    It shows itself as Markdown in a terminal and as safe HTML in a notebook: nothing in it runs, and links lead to the
    service alone. Tables are built on first use.

    Attributes
    ----------
    status
        ``complete``, ``running`` (at a service: read it again later), ``interrupted`` or ``failed``.
    title
        Title of the conversation.
    url
        Address of the conversation, relative in this process; empty when it is not known.
    cached
        Whether it was kept from an earlier run over the same commits.
    notices
        Remarks for the reader.
    """

    def __init__(
        self,
        answer: Mapping[str, Any],
        *,
        base_url: str = "",
        asker: Asker | None = None,
        turns: Sequence[tuple[str, str]] = (),
        cached: bool = False,
    ) -> None:
        self._attributes = answer
        self._base_url = base_url

        # When this object was made: a stored answer is older, and has `cached` set.
        self._made_at = now()
        self._asker = asker
        self._turns = tuple((str(activity), str(about)) for activity, about in (turns or answer.get("turns") or ()))
        self.questions: Sequence[Mapping[str, Any]] = tuple(answer.get("questions") or ())
        self.title: str = answer.get("title") or (self.question if self.questions else "")
        self.url: str = answer.get("url") or ""
        self.status: str = answer["status"]
        self.notices: tuple[str, ...] = tuple(answer.get("notices") or ())
        self.cached = cached

    @property
    def question(self) -> str:
        """The question; of a conversation, the last one."""
        return str(self._last_question.get("question") or "")

    @property
    def text(self) -> str:
        """The answer in Markdown; of a conversation, the last one. Empty while there is none."""
        return str(self._last_question.get("answer") or "")

    @property
    def identifier(self) -> str:
        """The identifier for `deepsearch_read`: the read token, or the address."""
        return str(self._attributes.get("read_token") or self.url)

    @property
    def follow_ups(self) -> list[str]:
        """Suggested follow-up questions."""
        return [str(follow_up) for follow_up in self._last_question.get("suggested_followups") or ()]

    @property
    def stats(self) -> dict[str, Any]:
        """Counts of the answer: citations, tool calls, tokens of a model."""
        return dict(self._last_question.get("stats") or {})

    @cached_property
    def sources(self) -> DataFrame:
        """DataFrame of the sources of the answer, searches and repositories included, one row each.

        Columns as in ``columns_of("conversation")``.
        """
        from sourcelight.display.frames.tables import to_pandas

        rows = self._attributes.get("rows") or ()
        table = table_of_rows("conversation", rows)
        return to_pandas(table, COLUMNS["conversation"], {**self._source, "title": self.title})

    @cached_property
    def citations(self) -> DataFrame:
        """`sources` that are files or commits: where, in which role, and how the check ended.

        No sentence uses rejected ones; their label has the reason.
        """
        frame = self.sources
        return frame[frame["type"].isin(_CITED)].reset_index(drop=True)

    @property
    def has_evidence(self) -> bool:
        """Whether the answer has a citation or a counted table; without either there is no answer."""
        cites = any(row.get("type") in _CITED for row in self._attributes.get("rows") or ())
        return cites or any(question.get("tables") for question in self.questions)

    @cached_property
    def tables(self) -> dict[str, DataFrame]:
        """Tables of a counted answer by their titles: every row, not a sample; `attrs` have the query and the total."""
        from sourcelight.display.frames.facts import counted_frame

        tables = chain.from_iterable(question.get("tables") or () for question in self.questions)
        return {str(table.get("title")): counted_frame(table, self._source) for table in tables}

    @property
    def files(self) -> list[str]:
        """Addresses of the CSV, JSON and SVG files that the answers of a service link to, in order, without code."""
        return file_links("\n".join(str(question.get("answer") or "") for question in self.questions))

    def save_files(self, directory: str | Path) -> list[str]:
        """Save `files` to a directory, which is created if it is missing. Existing files are never replaced.

        Only files below the address of the service are saved, because the credential must not go elsewhere. Their
        contents are not checked, and SVG files are not displayed; treat them as files from an untrusted source.

        Parameters
        ----------
        directory
            Path of the directory.

        Returns
        -------
        list of str
            The paths, in the order of `files`.

        Raises
        ------
        ToolError
            When a file is not on the service, or the answer is not from a service.
        FileExistsError
            When a file of that name exists.
        """
        return save_links(None if self._asker is None else self._asker.backend, self.files, directory)

    @property
    def steps(self) -> DataFrame:
        """DataFrame of the research steps that were observed: columns ``step`` and ``detail``."""
        from sourcelight.display.frames.facts import counted_frame

        frame: DataFrame = counted_frame({"columns": ("step", "detail"), "rows": self._turns}, self._source)
        return frame

    @property
    def _source(self) -> dict[str, Any]:
        """Attributes for the `attrs` of its frames."""
        attrs: dict[str, Any] = {"status": self.status}
        if self._asker is not None:
            attrs = provenance(self._asker.backend, status=self.status)
        return {"call": "deepsearch", **attrs, "requested_at": self._made_at}

    @property
    def _last_question(self) -> Mapping[str, Any]:
        """The question that `text` answers; empty before a service has named one."""
        return self.questions[-1] if self.questions else {}

    def ask(self, question: str) -> DeepSearchAnswer:
        """Ask a follow-up question in the same conversation. Blocks, also inside a running event loop.

        With an `AsyncClient`, await ``deepsearch(question, conversation=answer)`` instead.

        Parameters
        ----------
        question
            The question in plain language.

        Returns
        -------
        DeepSearchAnswer
            The answer to the follow-up.
        """
        asker = self._asker_or_raise()
        answer: DeepSearchAnswer = call(lambda: asker.deepsearch(question, conversation=self))
        return answer

    def rename(self, title: str) -> None:
        """Change the title of the conversation.

        This and the methods below block, also inside a running event loop. With an `AsyncClient`, await its
        ``deepsearch_update``, ``deepsearch_reset_link``, ``deepsearch_cancel`` or ``deepsearch_delete`` instead.

        Parameters
        ----------
        title
            The new title.

        Raises
        ------
        ToolError
            When the conversation doesn't exist or isn't yours.
        """
        self._change(title=title)

    def star(self) -> None:
        """Star the conversation: ``deepsearch_list(starred=True)`` lists it."""
        self._change(starred=True)

    def unstar(self) -> None:
        """Remove the star."""
        self._change(starred=False)

    def share(self) -> str:
        """Let everyone with the link read the conversation; return the link.

        Readers need an account of the service, and see only the parts about repositories that they may see.
        """
        return self._change(shared=True)

    def unshare(self) -> None:
        """Make the conversation private again."""
        self._change(shared=False)

    def reset_link(self) -> str:
        """Replace the link of the conversation and return the new one; the former one stops working."""
        return self._change(reset_link=True)

    def cancel(self) -> None:
        """Cancel the question that the conversation works on; nothing happens if it works on none."""
        self._change(cancel=True)

    def delete(self) -> None:
        """Delete the conversation, for everyone; this answer can still be read."""
        self._change(delete=True)

    def _change(self, **changes: Any) -> str:
        """Change the conversation; return the link for others."""
        asker = self._asker_or_raise()
        attributes: Mapping[str, Any] = call(lambda: asker._deepsearch_change(self, **changes))  # noqa: SLF001 - one room
        url = str(attributes.get("share_url") or self.url)
        # First without the part, then with it: services return either form, and the link for others has it once.
        return url.replace("/deepsearch/shared/", "/deepsearch/").replace("/deepsearch/", "/deepsearch/shared/")

    def apply_change(self, attributes: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        """Copy the title and address of the conversation after a change. Clients call this.

        Parameters
        ----------
        attributes
            Attributes of the conversation, as the backend returned them.
        changes
            The attributes that were changed, with their new values.
        """
        if changes.get("title") is not None:
            self.title = str(changes["title"])

        url = address_of(attributes)
        if changes.get("reset_link") and url:
            self.url = url
            token = str(attributes.get("read_token") or "")
            # A copy, as `to_dict` has given the former mapping to callers.
            self._attributes = {**self._attributes, "url": url, "read_token": token, "title": self.title}

    def _asker_or_raise(self) -> Asker:
        if self._asker is None or not self.identifier:
            raise ToolError("the conversation of this answer is unknown, so follow-ups aren't possible")
        return self._asker

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return questions and answers as Markdown.

        Parameters
        ----------
        path
            File to write; None: return the text.

        Returns
        -------
        str
            The text, or `path` if it is given.
        """
        return text_or_path(answer_markdown(self._view()), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the conversation as one HTML page without scripts, which works offline.

        Parameters
        ----------
        path
            File to write; None: return the page.

        Returns
        -------
        str
            The page, or `path` if it is given.
        """
        return text_or_path(answer_page(self._view()), path)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that is known of the answer, ready for JSON."""
        return {**self._attributes, "turns": [list(turn) for turn in self._turns]}

    def _view(self) -> AnswerView:
        # A relative address leads nowhere outside of the service's own pages.
        url = self.url if "://" in self.url else ""
        links = links_of(self._source) if not self._base_url and self._asker is not None else LinkResolver()
        return AnswerView(
            status=self.status,
            title=self.title,
            questions=self.questions,
            turns=self._turns,
            base_url=self._base_url,
            url=url,
            links=links,
        )

    def __repr__(self) -> str:
        return answer_text(self._view())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        view = self._view()
        return {"text/plain": answer_text(view), "text/html": answer_html(view)}


def address_of(attributes: Mapping[str, Any]) -> str:
    """Return the address of a conversation from the attributes of a result; empty when it is not known."""
    return str(attributes.get("url") or attributes.get("share_url") or "")


def conversation_facts(answer: ToolResult, question: str = "") -> dict[str, Any]:
    """Return the fields of a `DeepSearchAnswer` from the answer of a tool, as JSON values.

    Parameters
    ----------
    answer
        Of `deepsearch` or `deepsearch_read`.
    question
        The question without its filters; empty for the answer of `deepsearch_read`.
    """
    attributes = answer.attributes
    questions = attributes.get("questions")
    if questions is None:
        # `deepsearch` answers one question, with its fields at the top level; `deepsearch_read` has a list of answers.
        questions = [{**attributes, "question": question}]

    # A conversation is in the state of its last question.
    state = attributes.get("state")
    if not state and questions:
        state = questions[-1].get("state")

    rows = [{**row, "question": question or row["question"]} for row in answer.table.to_pylist()]
    return {
        "status": _STATUS.get(str(state or attributes.get("status")), "complete"),
        "title": attributes.get("title") or "",
        "url": address_of(attributes),
        "read_token": attributes.get("read_token") or "",
        "notices": list(answer.notices),
        "questions": [_kept_fields(item) for item in questions],
        "rows": rows,
    }


def _kept_fields(question: Mapping[str, Any]) -> dict[str, Any]:
    return {name: question[name] for name in _RESTORED if name in question}
