"""`clone` and `sync`: make mirrors of repositories, and fetch them on a schedule."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from sourcelight.cli.options import read_duration
from sourcelight.cli.output import DONE, FAILED, StatusLine, format_time, print_line, print_table, say
from sourcelight.core.errors import RepositoryError
from sourcelight.core.markup import visible
from sourcelight.core.markup.counts import count_of

if TYPE_CHECKING:
    from sourcelight.core.batches.events import CloneProgress
    from sourcelight.repos.mirrors.remotes import AddressList
    from sourcelight.repos.mirrors.schedule import MirrorState

Urls = Annotated[
    Optional[list[str]],  # noqa: UP045 - see options
    typer.Argument(metavar="URL", help="Addresses of git repositories.", show_default=False),
]
ListFile = Annotated[
    Optional[Path],  # noqa: UP045 - see options
    typer.Option(
        "--list",
        metavar="FILE",
        help="File with one address per line; - reads standard input. Lines that start with # are ignored.",
    ),
]
Destination = Annotated[
    Optional[Path],  # noqa: UP045 - see options
    typer.Option(
        metavar="DIRECTORY", help="Destination directory of the mirrors.  [default: a directory of sourcelight]"
    ),
]
AllowLocal = Annotated[
    bool,
    typer.Option("--allow-local", help="Accept local directories in --list. Use it only with a list that you trust."),
]
_MAX_PRINTED = 20
"""Invalid addresses that are printed one by one; the number of all others follows."""


class _Terminated(BaseException):
    """Raised by SIGTERM, so that running fetches are stopped."""


def clone_command(
    urls: Urls = None,
    *,
    list_file: ListFile = None,
    dest: Destination = None,
    allow_local: AllowLocal = False,
) -> int:
    """Keep bare mirrors of repositories.

    Clones new ones and updates existing ones. Prints the directory of each mirror, which you can pass to search, index
    or serve. Takes addresses from URL and --list. If one fails, reports it, continues with the others and exits with
    status 2.
    """
    addresses = list(urls or ())
    status = DONE
    if list_file is not None:
        address_list = _read_list(list_file, allow_local=allow_local)
        addresses += address_list.addresses.values()
        status = FAILED if address_list.rejected else DONE
    elif not addresses:
        raise typer.BadParameter("pass a URL, or --list FILE")

    return max(status, clone_repositories(addresses, _destination(dest)))


def sync_command(
    urls: Urls = None,
    *,
    list_file: ListFile = None,
    dest: Destination = None,
    every: Annotated[
        str, typer.Option(metavar="DURATION", help="Time between two fetches of a mirror, such as 10m or 6h.")
    ] = "15m",
    once: Annotated[
        bool, typer.Option("--once", help="Fetch each mirror once and exit; skip mirrors that wait after failures.")
    ] = False,
    status: Annotated[bool, typer.Option("--status", help="Show the state of each mirror; fetch nothing.")] = False,
    jobs: Annotated[int, typer.Option(min=1, max=64, metavar="NUMBER", help="Number of parallel fetches.")] = 4,
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="Timeout of a fetch, which counts as a failure.")
    ] = "1h",
    allow_local: AllowLocal = False,
) -> int:
    """Fetch mirrors on a schedule.

    Runs next to `serve`, until Ctrl-C or SIGTERM. Fetches the mirrors of URL and --list, and clones missing ones.
    Without both, fetches all mirrors in --dest. Rereads the list while it runs; if you remove an address, its mirror
    stays but is no longer fetched.

    Each failure in a row doubles the time to the next fetch, up to a day. A success resets it to --every. The times
    vary at random, to spread the fetches. Only one process can work on a directory. With --once, exits with status 2
    if a fetch failed or a mirror still waits after failures.
    """
    from sourcelight.repos.mirrors.schedule import MirrorSchedule

    directory = _destination(dest)
    if status:
        return show_mirrors(directory)

    interval_s, timeout_s = read_duration("--every", every), read_duration("--timeout", timeout)
    addresses = _Addresses(urls or (), list_file, allow_local=allow_local)
    schedule = MirrorSchedule(
        directory,
        addresses.read if urls or list_file else None,
        interval_s=interval_s,
        timeout_s=timeout_s,
        jobs=jobs,
        report=_print_fetch,
    )
    with schedule.lock(), _terminable() as stopped:
        if not once:
            print_line(f"fetching mirrors in {visible(schedule.folder)} every {every}; Ctrl-C stops")
            sys.stdout.flush()
        schedule.run(once=once)

    if stopped or not once:
        return DONE

    failing = sum(1 for state in schedule.states.values() if state.failures)
    print_line(f"{count_of(len(schedule.states), 'mirror')}, {failing} failing")
    return FAILED if failing or addresses.rejected else DONE


def clone_repositories(urls: Sequence[str], destination: str) -> int:
    """Clone or update each mirror; a failure doesn't stop the others."""
    from sourcelight.repos import clone

    status = DONE
    for url in urls:
        line = StatusLine()

        # The default argument binds the line of this iteration.
        def paint(progress: CloneProgress, line: StatusLine = line) -> None:
            line.show(f"{progress.url}: {progress.step} {progress.done:,}/{progress.total:,}")

        try:
            directory = clone(url, destination, progress=paint)
        except (RepositoryError, OSError) as exc:
            line.clear()
            say(str(exc))
            status = FAILED
        else:
            line.clear()
            print_line(visible(directory))

    return status


def show_mirrors(directory: str) -> int:
    """Show the mirrors of `sync`, failing ones first, and those that only `clone` has fetched so far."""
    from sourcelight.repos.mirrors.remotes import check_address
    from sourcelight.repos.mirrors.schedule import MirrorSchedule, MirrorState, read_states
    from sourcelight.repos.mirrors.update import find_mirrors

    states = read_states(directory)
    fetched_paths = {state.mirror for state in states.values()}
    for path, origin in find_mirrors(directory).items():
        with suppress(RepositoryError):  # an origin that sync can't fetch either
            address = check_address(origin, allow_local=True)
            if path not in fetched_paths and address not in states:
                states[address] = MirrorState(address, path)

    rows = []
    for state in sorted(states.values(), key=lambda state: (-state.failures, state.address)):
        fetched = format_time(state.fetched_at_s) if state.fetched_at_s else ""
        due = format_time(state.due_at_s) if state.due_at_s else "next sync"
        rows.append((state.address, fetched, state.failures, due, state.error))

    print_table(("address", "fetched", "failures", "next", "error"), rows)
    is_running = MirrorSchedule.is_locked(directory)
    print_line(
        f"{count_of(len(rows), 'mirror')} in {visible(directory)}; sync is {'running' if is_running else 'not running'}"
    )
    return DONE


class _Addresses:
    """The addresses of arguments and a list, which is read again whenever they are asked for.

    Raises
    ------
    RepositoryError
        When an argument isn't an address.
    OSError
        When the list can't be read.
    """

    def __init__(self, urls: Sequence[str], list_file: Path | None, *, allow_local: bool) -> None:
        from sourcelight.repos.mirrors.remotes import check_address

        self._urls = {check_address(url, allow_local=True): url for url in urls}
        self._list_file = list_file
        self._allow_local = allow_local
        self._addresses: AddressList | None = (
            None if list_file is None else _read_list(list_file, allow_local=allow_local)
        )

    @property
    def rejected(self) -> bool:
        """Whether the list has lines that aren't addresses."""
        return self._addresses is not None and bool(self._addresses.rejected)

    def read(self) -> dict[str, str]:
        """Return the addresses, or the previous ones with a message if the list can't be read any more."""
        if self._list_file is None or self._addresses is None:
            return self._urls

        try:
            if str(self._list_file) != "-":  # standard input can be read once
                self._addresses = _read_list(self._list_file, allow_local=self._allow_local, previous=self._addresses)
        except (OSError, RepositoryError) as exc:
            say(f"{self._list_file}: {exc}; the previous addresses stay in use")

        return {**self._addresses.addresses, **self._urls}


def _read_list(path: Path, *, allow_local: bool, previous: AddressList | None = None) -> AddressList:
    """Read a list of addresses, and report invalid lines unless `previous` has the same ones."""
    from sourcelight.repos.mirrors.remotes import read_addresses

    if str(path) == "-":
        addresses = read_addresses(sys.stdin.buffer, allow_local=allow_local)
    else:
        with path.open("rb") as file:
            addresses = read_addresses(file, allow_local=allow_local)

    if previous is None or previous.rejected != addresses.rejected:
        for number, reason in list(addresses.rejected.items())[:_MAX_PRINTED]:
            say(f"{path}, line {number}: {reason}")
        if len(addresses.rejected) > _MAX_PRINTED:
            say(f"{path}: {count_of(len(addresses.rejected) - _MAX_PRINTED, 'more invalid address')}")

    return addresses


def _destination(dest: Path | None) -> str:
    from sourcelight.backends.embedded import mirrors_folder

    return str((dest or mirrors_folder()).expanduser().absolute())


def _print_fetch(state: MirrorState) -> None:
    if state.failures:
        failures, due = count_of(state.failures, "failure"), format_time(state.due_at_s)
        say(f"{state.address}: {state.error} ({failures} in a row, next at {due})")
    else:
        print_line(f"fetched {visible(state.address)}")
        sys.stdout.flush()


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """End the block on SIGTERM, without an error; the list has the signal then."""
    received: list[int] = []

    # Python runs handlers in the main thread, where the block runs: the exception ends it, and its cleanup runs.
    def terminate(number: int, _: Any) -> None:
        received.append(number)
        raise _Terminated

    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        yield received
    except _Terminated:
        pass
    finally:
        signal.signal(signal.SIGTERM, previous)
