"""Send a request to one worker, or to all holders of some repositories, with failover to their replicas.

`ask_one` tries one worker after another. `HolderRequests` asks all holders at once, each for its own repositories, and
asks the next holder for those without an answer. Where workers exchange numbers, as for a ranking, all begin again if
one fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.backends.cluster.coordinator.members import (
    RETRIED,
    WORKER_GONE,
    FailedAttempt,
    ReplicaOrder,
    WorkerDirectory,
    WorkerInfo,
    is_poisoned,
    reasons,
)
from sourcelight.backends.cluster.messages import ADD, CALL, TELL, WorkerRequest, error_from_plain
from sourcelight.backends.cluster.storage.generation import Generation
from sourcelight.core.errors import ClusterError

Message = Mapping[str, Any]


async def messages_of(
    members: WorkerDirectory, operation: str, order: Mapping[str, Any], member: WorkerInfo, silence_s: float
) -> AsyncGenerator[Message]:
    """Yield the messages of a worker; the last has kind ``end``. Closing the iterator stops its work.

    Raises
    ------
    TimeoutError
        After `silence_s` seconds without a message, once it has the order.
    WorkersUnreachable
        When there is no connection, or it breaks.
    SourcelightError
        The error that the worker reports for the order.
    """
    async with contextlib.aclosing(members.connections.ask(member.address, operation, order, silence_s)) as messages:
        async for message in messages:
            if message["kind"] == "fault":
                raise error_from_plain(message)
            yield message


@dataclass(slots=True)
class HolderRequests:
    """Requests of one call to the workers of its repositories. On the event loop of `replicas.members`.

    Parameters
    ----------
    replicas, generation
        Who holds what.
    order
        The request to each worker, for its own repositories.
    silence_s
        Seconds without a message after which a worker is taken for dead.
    on_message
        Called with messages on the way.

    Attributes
    ----------
    skipped
        Repositories that no worker answers for.
    """

    replicas: ReplicaOrder
    generation: Generation
    order: WorkerRequest
    silence_s: float
    on_message: Callable[[Message], None] = lambda _: None
    skipped: list[str] = field(default_factory=list)
    _is_refreshed: bool = False

    async def last_messages(self) -> list[Message]:
        """Return the last message of each worker; ask the next worker where one did not answer.

        Raises what the call itself raises.
        """
        messages: list[Message] = []
        open_ = list(self.order.names)

        # Each round asks the next worker of the repositories that are still open. It ends, because `replicas` never
        # returns a worker twice.
        while groups := await self._groups(open_):
            outcomes = await asyncio.gather(
                *(self._follow(member, names_here, self.order) for member, names_here in groups.items()),
                # One worker's failure must not cancel the answers of the others.
                return_exceptions=True,
            )
            open_ = []
            for (member, names_here), outcome in zip(groups.items(), outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    self._note_failure(member, names_here, outcome)
                    open_ += names_here
                else:
                    messages.append(outcome)
                    open_ += self._missing(member, outcome)

        return messages

    async def together(self) -> list[Message]:
        """Return the last message of each worker, where all exchange numbers on the way.

        When one does not answer, all begin again, with the next worker for its repositories. Raises the error of the
        call itself.
        """
        while groups := await self._groups(self._remaining_names()):
            # A new token for each round: numbers of a round that was given up must not reach the next one.
            order = replace(self.order, token=os.urandom(8).hex())
            meeting = _Meeting(self, order.token, len(groups))
            tasks = {
                asyncio.get_running_loop().create_task(self._follow(member, names_here, order, meeting.add_numbers)): (
                    member,
                    names_here,
                )
                for member, names_here in groups.items()
            }
            try:
                # The others wait for the numbers of the one that failed, so all are cancelled and begin again.
                await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

            needs_retry = False
            for task, (member, names_here) in tasks.items():
                error = asyncio.CancelledError() if task.cancelled() else task.exception()
                if isinstance(error, asyncio.CancelledError):
                    needs_retry = True
                elif error is not None:
                    self._note_failure(member, names_here, error)
                    needs_retry = True
                elif self._missing(member, task.result()):
                    needs_retry = True

            if not needs_retry:
                return [task.result() for task in tasks]

        return []

    async def _groups(self, names: Sequence[str]) -> dict[WorkerInfo, list[str]]:
        """Group repositories by their next worker; skip those without one after asking the schedulers again."""
        replicas = self.replicas
        groups, unplaced = replicas.groups(names)

        # A scheduler is asked again once only: it is a request over the network, and a dead cluster would be asked
        # forever.
        if unplaced and not self._is_refreshed:
            self._is_refreshed = True
            await replicas.members.refresh()
            replicas.holders = {**replicas.holders, **replicas.members.holding(self.generation)}
            groups, unplaced = replicas.groups(names)

        self.skipped += unplaced
        return groups

    def _remaining_names(self) -> list[str]:
        skipped = set(self.skipped)
        return [name for name in self.order.names if name not in skipped]

    def _note_failure(self, member: WorkerInfo, names: Sequence[str], error: BaseException) -> None:
        """Record why a worker did not answer; raise errors that another worker would raise too."""
        if not isinstance(error, RETRIED):
            raise error
        attempt = FailedAttempt.of(member.name, error, self.silence_s)
        if isinstance(error, WORKER_GONE):
            self.replicas.members.drop(member, attempt)
        for name in names:
            self._note(member, name, attempt)

    def _missing(self, member: WorkerInfo, message: Message) -> list[str]:
        """Return the repositories that a worker left out, as it could not get their shards."""
        for name, reason in message.get("failed", {}).items():
            self._note(member, name, FailedAttempt(member.name, reason, engine=True))
        return list(message.get("failed", {}))

    def _note(self, member: WorkerInfo, name: str, attempt: FailedAttempt) -> None:
        self.replicas.add_request(member, (name,))
        self.replicas.add_failure(name, attempt)

    async def _follow(
        self,
        member: WorkerInfo,
        names: Sequence[str],
        order: WorkerRequest,
        on_numbers: Callable[[WorkerInfo, Message], Coroutine[Any, Any, None]] | None = None,
    ) -> Message:
        payload = replace(order, names=tuple(names)).to_plain()
        async with contextlib.aclosing(
            messages_of(self.replicas.members, CALL, payload, member, self.silence_s)
        ) as messages:
            async for message in messages:
                if message["kind"] == "end":
                    return message
                if message["kind"] == "share" and on_numbers is not None:
                    await on_numbers(member, message)
                else:
                    self.on_message(message)

        raise AssertionError("an answer ends with its last message")


class _Meeting:
    """Exchange of numbers in one ranking: sums or maxima, once the last worker has sent its own."""

    def __init__(self, holders: HolderRequests, token: str, count: int) -> None:
        self._holders, self._token, self._count = holders, token, count
        self._payloads: list[Sequence[Any]] = []
        self._all_numbers: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()

    async def add_numbers(self, member: WorkerInfo, message: Message) -> None:
        """Receive one worker's numbers, and send it the merged ones once they are known."""
        all_numbers = self._all_numbers
        self._payloads.append(message["numbers"])
        if len({len(payloads) for payloads in self._payloads}) > 1:
            raise ClusterError("the workers rank by different rules; run one version on all of them")

        if len(self._payloads) == self._count:
            join = sum if message["how"] == ADD else max
            all_numbers.set_result([join(column) for column in zip(*self._payloads, strict=True)])
            # A ranking has several exchanges: a fast worker may begin the next one before the others have this one's
            # sums.
            self._payloads, self._all_numbers = [], asyncio.get_running_loop().create_future()

        reply = {"token": self._token, "numbers": await all_numbers}
        members = self._holders.replicas.members
        async with contextlib.aclosing(messages_of(members, TELL, reply, member, self._holders.silence_s)) as payloads:
            async for _ in payloads:
                pass


class NoWorkerAnswered(ClusterError):
    """Raised when none of the workers that could answer did; `attempts` says why."""

    def __init__(self, label: str, attempts: Sequence[FailedAttempt]) -> None:
        self.attempts = tuple(dict.fromkeys(attempts))
        super().__init__(f"{label} could not be answered. Tried: {reasons(self.attempts)}. Try again in a moment.")


async def ask_one(
    members: WorkerDirectory,
    operation: str,
    order: WorkerRequest,
    candidates: Sequence[WorkerInfo],
    *,
    label: str,
    silence_s: float,
    on_message: Callable[[Message], None] = lambda _: None,
) -> Message:
    """Return the last message of the first worker that answers.

    Parameters
    ----------
    members
        Registry from which dead workers are removed.
    operation, order
        Operation of the worker, and its arguments.
    candidates
        Workers in the order in which they are tried.
    label
        Named when no worker answers.
    silence_s
        Seconds without a message after which a worker is taken for dead.
    on_message
        Called with each message before the last; none is repeated when another worker is asked.

    Raises
    ------
    NoWorkerAnswered
        When no worker answers, or two fail alike.
    SourcelightError
        What the call itself raises.
    """
    attempts: list[FailedAttempt] = []
    for member in candidates:
        # Work that killed two workers is not given to a third.
        if is_poisoned(attempts):
            break
        try:
            return await _ask_worker(
                members, operation, order=order, member=member, silence_s=silence_s, on_message=on_message
            )
        except RETRIED as error:
            attempts.append(FailedAttempt.of(member.name, error, silence_s))
            if isinstance(error, WORKER_GONE):
                members.drop(member, attempts[-1])

    raise NoWorkerAnswered(label, attempts or members.absent)


async def _ask_worker(
    members: WorkerDirectory,
    operation: str,
    *,
    order: WorkerRequest,
    member: WorkerInfo,
    silence_s: float,
    on_message: Callable[[Message], None],
) -> Message:
    async with contextlib.aclosing(messages_of(members, operation, order.to_plain(), member, silence_s)) as messages:
        async for message in messages:
            if message["kind"] != "end":
                on_message(message)
            elif message.get("failed"):
                name, reason = next(iter(message["failed"].items()))
                raise ClusterError(f"{name}: {reason}")
            else:
                return message

    raise AssertionError("an answer ends with its last message")
