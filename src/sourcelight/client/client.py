"""The asynchronous client. `Client` wraps it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sourcelight.client.completions import Completions
from sourcelight.client.methods import Methods
from sourcelight.client.methods.call import use_python_names
from sourcelight.client.methods.views import ShowsOverview
from sourcelight.client.progress import IncompleteResultWarning, RepeatedCommitsWarning, warn, watch
from sourcelight.client.provenance import describe_call, now, provenance
from sourcelight.client.searches import SearchMethods
from sourcelight.client.service_tools import AsyncServiceTools
from sourcelight.core.arguments import checks_arguments
from sourcelight.core.backend import Backend
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.completeness import Status, call_status
from sourcelight.core.errors import Cancelled, ToolError
from sourcelight.core.extras import require_notebook
from sourcelight.core.former_names import refuses_former_names
from sourcelight.core.notices import is_rule
from sourcelight.core.tools.catalog import find_tool
from sourcelight.core.tools.files import UNPARSED
from sourcelight.core.tools.tool import A, Tool
from sourcelight.display.notebook import CallState, ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table

_SHOW_AFTER_S = 0.5  # most calls end sooner, and a bar that vanishes at once would only flicker


@refuses_former_names("Client")
class AsyncClient(ShowsOverview, SearchMethods, Methods):
    """Searches code. `sourcelight.aopen` and `sourcelight.aconnect` make one.

    Parameters
    ----------
    backend
        What answers.
    """

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._last_frame: DataFrame | None = None

    async def __aenter__(self) -> Self:
        """Use the client in ``async with``; it is closed at the end."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def cluster(self) -> Any:
        """The cluster behind the client (`sourcelight.core.backend.ClusterInfo`), or None."""
        return self._backend.features.cluster

    @property
    def tools(self) -> AsyncServiceTools:
        """All tools that a service advertises, by name, also those without a method here; empty without a service."""
        return AsyncServiceTools(self._backend)

    @property
    def completions(self) -> Completions:
        """Names of repositories, authors and other values that results contained; sends no request."""
        self._completions.add("repository", self._backend.features.cached_names() or ())
        return self._completions

    async def _call(self, tool: Tool[A], arguments: A, progress: ProgressChoice = None) -> DataFrame:
        """Return the DataFrame of a tool; warn if a limit shortened an answer although the caller requested all rows.

        Parameters
        ----------
        tool
            Definition of the tool.
        arguments
            Its arguments; None values are not sent.
        progress
            As in `search`.

        Raises
        ------
        Cancelled
            When a Stop button ended the call: nothing of it is kept.
        MissingExtra
            Where pandas is not installed; nothing is called then.
        """
        require_notebook("pandas", f"the DataFrame of {tool.name}")
        from sourcelight.display.frames.facts import answer_frame, partial_frame

        self._last_frame = None
        self._read_last = lambda: self._last_frame

        # Called while the exception of an interrupt passes: `last` then has the rows that had arrived.
        def keep(rows: Sequence[Any], attributes: Mapping[str, Any]) -> None:
            self._last_frame = partial_frame(rows, attributes)

        answer, attributes, status = await self._ask(tool, arguments, progress, keep)
        frame: DataFrame = answer_frame(answer, attributes, status=status)
        self._last_frame = frame
        return frame

    @checks_arguments
    async def call_table(self, tool: str, /, *, progress: ProgressChoice = None, **arguments: Any) -> Table:
        """Return the rows of a tool as an Arrow table: the DataFrame of its method, without pandas.

        Parameters
        ----------
        tool
            Name of the tool, such as ``commit_search``; ``docs/mcp-tools.md`` and ``docs/frames.md`` have them all.
        progress
            As in `search`.
        arguments
            Its arguments, under the names that they have on the wire.

        Returns
        -------
        pyarrow.Table
            The columns of ``sourcelight.columns_of(tool)``. Its metadata has the `attrs` of the DataFrame, each as text
            under ``sourcelight.`` and its name: ``sourcelight.status`` says whether it is complete.

        Raises
        ------
        UnsupportedTool
            For a name that no tool has.
        ToolError
            For arguments that the tool doesn't take.
        """
        definition = find_tool(tool)
        answer, attributes, status = await self._ask(definition, definition.parse(arguments), progress, lambda *_: None)
        attributes |= {**answer.attributes, "status": status, "notices": "; ".join(answer.notices)}
        return answer.table.replace_schema_metadata(
            {f"sourcelight.{name}": str(attributes[name]) for name in attributes}
        )

    async def _ask(
        self,
        tool: Tool[A],
        arguments: A,
        progress: ProgressChoice,
        keep: Callable[[Sequence[Any], Mapping[str, Any]], None],
    ) -> tuple[ToolResult, dict[str, Any], Status]:
        """Return an answer, its attributes and its status; `keep` gets the rows of a call that is interrupted."""
        name, wire_arguments = tool.name, arguments.to_wire()
        state = CallState(_format_call(name, wire_arguments))
        asked_at = now()
        answer: ToolResult | None = None

        async def work() -> None:
            nonlocal answer
            try:
                answer = await self._backend.call(name, wire_arguments, state.update)
            except asyncio.CancelledError:
                state.interrupt()
                keep(state.rows, {"call": name, "query": describe_call(name, wire_arguments)})
                raise
            except ToolError as exc:
                use_python_names(exc, tool)
                state.fail(str(exc))
                raise
            except Exception as exc:
                state.fail(str(exc))
                raise

            state.finish(answer, _status(tool, answer, wire_arguments))

        await watch(state, work(), progress, _SHOW_AFTER_S, client=self)
        if answer is None:
            raise Cancelled(f"{name} was stopped")

        self._completions.learn(answer.table)
        status = _status(tool, answer, wire_arguments)
        if status in {"limited", "unparsed"}:
            missing = [notice.removesuffix(".") for notice in answer.notices if not is_rule(notice)]
            warn(IncompleteResultWarning(f"{name}: {'; '.join(missing) or 'more rows exist'}"))

        for notice in answer.notices:
            if is_rule(notice, "repeated commits"):
                warn(RepeatedCommitsWarning(f"{name}: {notice.removesuffix('.')}"))

        attrs = provenance(
            self._backend,
            status=status,
            reasons=() if answer.complete else answer.notices,
            asked_at=asked_at,
            duration_s=state.elapsed_s,
        )
        return answer, {"call": name, "query": describe_call(name, wire_arguments), **attrs}, status


def _status(tool: Tool[Any], answer: ToolResult, arguments: Mapping[str, Any]) -> Status:
    """Return the status of an answer; a requested limit or page doesn't make it incomplete."""
    if answer.columns == UNPARSED:
        return "unparsed"
    return call_status(complete=answer.complete, rows=answer.table.num_rows, limit=tool.requested_rows(arguments))


def _format_call(name: str, arguments: Mapping[str, Any]) -> str:
    arguments_text = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"{name}({arguments_text})"
