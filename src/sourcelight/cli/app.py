"""The commands and their options; what they do stands in the modules beside this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from sourcelight.cli.admin_commands import admin_app
from sourcelight.cli.output import DONE, FAILED, INTERRUPTED, USAGE, say
from sourcelight.cli.report import report_app
from sourcelight.core.errors import BadParameter, ConfigurationError, SourcelightError

app = typer.Typer(
    name="sourcelight",
    help="Search, explore and report on git repositories.",
    epilog="Environment: SRC_ENDPOINT and SRC_ACCESS_TOKEN (the service that search asks when no PATH is given), "
    "SOURCELIGHT_HOME (where the index and state are kept), SOURCELIGHT_OWNER_TOKEN (serve). "
    "Exit status: 0 done, 1 no match, 2 failed or used wrongly, 130 interrupted (what was written so far is kept).",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

query_app = typer.Typer(help="Look at queries without running them.", rich_markup_mode=None, no_args_is_help=True)
app.add_typer(query_app, name="query")
app.add_typer(admin_app, name="admin")
app.add_typer(report_app, name="report")


class OutputFormat(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


class PatternType(StrEnum):
    """How the patterns of a query are read, unless it says so itself with patternType:."""

    STANDARD = "standard"
    KEYWORD = "keyword"
    REGEXP = "regexp"
    LITERAL = "literal"


class IndexKind(StrEnum):
    """Kinds of index files; as in `sourcelight.engines.execution.disk.KINDS`."""

    TEXT = "text"
    DEFINITIONS = "definitions"
    RANKING = "ranking"
    HISTORY = "history"
    SCIP = "scip"


Paths = Annotated[
    Optional[list[Path]],  # noqa: UP045 - typer of the oldest supported release reads this form
    typer.Argument(
        metavar="PATH",
        help="Folders; every git repository below is taken, and a folder without any as a snapshot of its files.",
        show_default=False,
    ),
]
Worktree = Annotated[
    bool, typer.Option("--worktree", help="Search work trees as they are on disk, uncommitted changes included.")
]

ClusterAddress = Annotated[
    Optional[list[str]],  # noqa: UP045 - see Paths
    typer.Option(
        "--cluster",
        metavar="URL",
        help="Scheduler of a cluster: tls://HOST:PORT, or tcp:// on loopback. Twice: two cells with a replica each.",
    ),
]
ShardStorage = Annotated[
    Optional[str],  # noqa: UP045 - see Paths
    typer.Option("--storage", metavar="URL", help="Where the shards of a cluster are: a folder or an fsspec URL."),
]
Tls = Annotated[
    Optional[Path],  # noqa: UP045 - see Paths
    typer.Option(
        "--tls",
        metavar="FOLDER",
        help="ca.pem, cert.pem and key.pem of the cluster: an administrator's certificate, not a user's.",
    ),
]


def _version(*, asked: bool) -> None:
    if asked:
        from sourcelight import __version__

        typer.echo(f"sourcelight {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", is_eager=True, callback=lambda v: _version(asked=v)
        ),
    ] = False,
) -> None:
    """Search, explore and report on git repositories."""
    del version


@app.command()
def index(  # noqa: PLR0913 - the options of a command
    paths: Paths = None,
    *,
    status: Annotated[
        bool, typer.Option("--status", help="Show the indexes and the bytes of each kind; index nothing.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete the indexes of all repositories that are not below PATH.")
    ] = False,
    kind: Annotated[
        Optional[list[IndexKind]],  # noqa: UP045 - see Paths
        typer.Option(
            help="With --prune: delete this kind alone, of all repositories when no PATH is given; may be repeated."
        ),
    ] = None,
    workers: Annotated[
        Optional[int],  # noqa: UP045 - see Paths
        typer.Option(min=1, max=256, help="Processes that build the index.  [default: one per core]"),
    ] = None,
    max_bytes: Annotated[
        Optional[int],  # noqa: UP045 - see Paths
        typer.Option(min=1, help="Most bytes that all indexes together may take on disk.  [default: no limit]"),
    ] = None,
    scip: Annotated[
        Optional[list[Path]],  # noqa: UP045 - see Paths
        typer.Option(help="An index file of a compiler (SCIP) for the one repository below PATH; may be repeated."),
    ] = None,
    worktree: Worktree = False,
    cluster: ClusterAddress = None,
    storage: ShardStorage = None,
    work: Annotated[
        Optional[Path],  # noqa: UP045 - see Paths
        typer.Option(help="With --storage: a folder that keeps indexes between builds, where they are built."),
    ] = None,
    tls: Tls = None,
) -> int:
    """Index repositories, so that the first search of them is fast; only what changed is read again.

    Searching and serving do the same when needed. Without PATH: the current folder; with --status: everything. With
    --storage the shards of a cluster are built, on its workers when --cluster names its scheduler.

    --status and --prune tell kinds apart: text, definitions, ranking (terms of ranked search), history, and scip (index
    files of compilers). What --prune deletes is built again when it is needed, but for scip; a process that reads it
    meanwhile reads on.
    """
    from sourcelight.cli import index as indexing

    names = [str(path) for path in paths or []]
    if storage or cluster:
        from sourcelight.cli import cluster as clusters

        return clusters.build(names or ["."], cluster or [], storage, work, workers, tls)
    if kind and not prune:
        raise typer.BadParameter("--kind goes with --prune")
    if status:
        return indexing.show_status(names)
    if prune:
        return indexing.prune(names, [one.value for one in kind or []])
    return indexing.index(
        names or ["."], workers=workers, max_bytes=max_bytes, worktree=worktree, scip=[str(path) for path in scip or []]
    )


@app.command()
def search(  # noqa: PLR0913 - the options of a command
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="The query, in quotes; put -- in front of one that starts with a dash."),
    ],
    paths: Paths = None,
    *,
    url: Annotated[
        Optional[str],  # noqa: UP045 - see Paths
        typer.Option(help="Ask this service instead; its token is read from SRC_ACCESS_TOKEN.  [env: SRC_ENDPOINT]"),
    ] = None,
    form: Annotated[
        Optional[OutputFormat],  # noqa: UP045 - see Paths
        typer.Option("--format", help="How to write the answer.  [default: by the ending of FILE, else table]"),
    ] = None,
    output: Annotated[
        Optional[Path],  # noqa: UP045 - see Paths
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE, in constant memory."),
    ] = None,
    pattern_type: Annotated[
        PatternType, typer.Option("--pattern-type", help="How to read patterns, unless the query has patternType:.")
    ] = PatternType.STANDARD,
    count_by: Annotated[
        Optional[str],  # noqa: UP045 - see Paths
        typer.Option(
            "--count-by",
            metavar="COLUMNS",
            help="Print counts by these columns instead of matches: repository, language, path; commas between.",
        ),
    ] = None,
    spreadsheet: Annotated[
        bool,
        typer.Option(
            "--spreadsheet",
            help="With CSV, put an apostrophe in front of text that a spreadsheet would run as a formula.",
        ),
    ] = False,
    timeout: Annotated[
        Optional[float],  # noqa: UP045 - see Paths
        typer.Option(min=0.001, help="Longest time to search, in seconds.  [default: no limit; a service's own]"),
    ] = None,
    limit: Annotated[
        Optional[int],  # noqa: UP045 - see Paths
        typer.Option("-n", "--limit", min=1, help="Write so many matches at most; all are still counted."),
    ] = None,
    worktree: Worktree = False,
) -> int:
    """Search and write matches as they are found.

    Searches PATH, else the service of --url or SRC_ENDPOINT, else the current folder.
    An answer that is not complete says so on standard error, and so does one without a match (exit status 1).
    """
    from sourcelight.cli import search as searching

    if paths and url:
        raise typer.BadParameter("give PATH or --url, not both")
    return searching.search(
        query,
        searching.SearchCommand(
            paths=tuple(str(path) for path in paths or []),
            url=url or "",
            form=form.value if form else "",
            output=str(output) if output else "",
            pattern_type=pattern_type.value,
            count_by=count_by,
            timeout_s=timeout,
            worktree=worktree,
            spreadsheet=spreadsheet,
            limit=limit,
        ),
    )


@query_app.command("explain")
def explain_query(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="The query, in quotes; put -- in front of one that starts with a dash."),
    ],
    paths: Paths = None,
    *,
    url: Annotated[
        Optional[str],  # noqa: UP045 - see Paths
        typer.Option(help="Take the query as for this service, which does not tell more than its tree."),
    ] = None,
    pattern_type: Annotated[
        PatternType, typer.Option("--pattern-type", help="How to read patterns, unless the query has patternType:.")
    ] = PatternType.STANDARD,
    worktree: Worktree = False,
) -> int:
    """Say what a query means: its tree, what each filter comes down to, what the index saves, what looks wrong.

    Looks at PATH, else the service of --url or SRC_ENDPOINT, else the current folder. Nothing is searched.
    """
    from sourcelight.cli import search as explaining
    from sourcelight.cli import search as searching

    if paths and url:
        raise typer.BadParameter("give PATH or --url, not both")
    return explaining.explain(
        query,
        searching.SearchCommand(
            paths=tuple(str(path) for path in paths or []),
            url=url or "",
            pattern_type=pattern_type.value,
            worktree=worktree,
        ),
    )


@app.command()
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question, in quotes and in plain words.")],
    paths: Paths = None,
    *,
    url: Annotated[
        Optional[str],  # noqa: UP045 - see Paths
        typer.Option(help="Ask this service instead; its token is read from SRC_ACCESS_TOKEN.  [env: SRC_ENDPOINT]"),
    ] = None,
    repo: Annotated[
        Optional[list[str]],  # noqa: UP045 - see Paths
        typer.Option(metavar="NAME", help="Look into this repository only; may be repeated."),
    ] = None,
    revision: Annotated[
        Optional[str],  # noqa: UP045 - see Paths
        typer.Option(help="Branch, tag or commit.  [default: the default branch]"),
    ] = None,
    worktree: Worktree = False,
) -> int:
    """Ask a question about the code; the answer is Markdown that cites what was read.

    Asks of PATH, else the service of --url or SRC_ENDPOINT, else the current folder. Without SOURCELIGHT_MODEL, no
    model is asked and nothing leaves this machine.
    """
    from sourcelight.cli import search as asking

    if paths and url:
        raise typer.BadParameter("give PATH or --url, not both")
    return asking.ask(
        question,
        [str(path) for path in paths or []],
        url=url,
        repos=repo or [],
        revision=revision,
        worktree=worktree,
    )


@app.command()
def serve(
    paths: Paths = None,
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on; anything but this machine's own is your decision.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 7080,
    config: Annotated[
        Optional[Path],  # noqa: UP045 - see Paths
        typer.Option(metavar="FILE", help="Site configuration: a JSON file."),
    ] = None,
    worktree: Worktree = False,
    cluster: ClusterAddress = None,
    storage: ShardStorage = None,
    tls: Tls = None,
) -> int:
    """Serve searches over HTTP to notebooks, scripts and search clients.

    The owner's token is taken from SOURCELIGHT_OWNER_TOKEN, else made and printed at the first start.
    Moved branches are noticed with each search; stop it with Ctrl-C or SIGTERM. With --cluster and --storage the
    repositories are those of a cluster, and no PATH is given.
    """
    from sourcelight.cli import serve as serving

    if storage or cluster:
        from sourcelight.cli import cluster as clusters

        opened = clusters.opened(cluster or [], storage, tls, paths=paths or [])
        return serving.serve(
            [], host=host, port=port, config=str(config) if config else None, worktree=worktree, cluster=opened
        )

    return serving.serve(
        [str(path) for path in paths or [Path()]],
        host=host,
        port=port,
        config=str(config) if config else None,
        worktree=worktree,
    )


@app.command()
def worker(
    *,
    scheduler: Annotated[str, typer.Option(metavar="URL", help="tls://HOST:PORT, or tcp:// on loopback.")],
    storage: Annotated[str, typer.Option(metavar="URL", help="Where the shards are: a folder or an fsspec URL.")],
    cache: Annotated[Path, typer.Option(metavar="FOLDER", help="A local folder of this worker alone.")],
    name: Annotated[
        str,
        typer.Option(help="Name that stays the same when the worker starts again; ZONE/NAME says where it stands."),
    ],
    cache_size: Annotated[
        Optional[str],  # noqa: UP045 - see Paths
        typer.Option(metavar="SIZE", help="Most that the cache may take, such as 200GB.  [default: no limit]"),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.  [default: loopback, for a scheduler there]")] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    threads: Annotated[int, typer.Option(min=1, max=256, help="Repositories that it builds at once.")] = 1,
    tls: Tls = None,
) -> int:
    """Work for a cluster: hold shards, search them, and build them.

    Runs until it is told to stop or its scheduler ends; let whatever supervises it start it again.
    """
    from sourcelight.cli import cluster

    return cluster.work(
        scheduler,
        storage,
        cache,
        name,
        cache_size=cache_size,
        host=host,
        port=port,
        threads=threads,
        tls=tls,
    )


@app.command("mcp")
def mcp_tools(paths: Paths = None, *, worktree: Worktree = False) -> int:
    """Offer the tools over standard input and output to an MCP client that starts this command.

    What is below PATH (default: the current folder) is indexed first. Needs no token: the client runs as you.
    """
    from sourcelight.cli import serve as stdio

    return stdio.serve_tools([str(path) for path in paths or [Path()]], worktree=worktree)


@app.command()
def repos(paths: Paths = None) -> int:
    """List the repositories below PATH, and the folders that can't be searched with the reason."""
    from sourcelight.cli import index as indexing

    return indexing.list_repositories([str(path) for path in paths or [Path()]])


@app.command()
def clone(
    urls: Annotated[list[str], typer.Argument(metavar="URL", help="Addresses of git repositories.")],
    *,
    into: Annotated[
        Optional[Path],  # noqa: UP045 - see Paths
        typer.Option(metavar="FOLDER", help="Where the mirrors go.  [default: a folder of this program]"),
    ] = None,
) -> int:
    """Keep bare mirrors of repositories: clone new ones, bring known ones up to date.

    Prints the folder of each mirror; give it to search, index or serve.
    """
    from sourcelight.cli import index as cloning

    return cloning.clone(urls, str(into) if into else "")


@app.command()
def lab(
    paths: Paths = None,
    *,
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the copies of the notebooks go; files there are kept.")
    ] = Path("sourcelight-notebooks"),
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> int:
    """Open JupyterLab on a copy of the tutorial notebooks; they run over sample repositories, or over PATH."""
    from sourcelight.cli import lab as room

    return room.open_lab([str(path) for path in paths or []], str(into), browser=browser)


@app.command()
def samples(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where they go; a folder that exists is kept.")],
) -> int:
    """Build the sample repositories that the guides and notebooks use, and print their folder."""
    from sourcelight.cli import lab as room

    return room.build_samples(folder)


def run(arguments: Sequence[str] | None) -> int:  # noqa: PLR0911 - one for each outcome
    """Run the command line; every fault is one line on standard error, never a traceback."""
    import typer

    # The framework's own class for usage faults, wherever the installed version keeps it.
    usage_fault: Any = typer.BadParameter.__bases__[0]
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        status = app(words or ["--help"], prog_name="sourcelight", standalone_mode=False)
        sys.stdout.flush()
    except usage_fault as fault:
        say(f"{_text(fault)} (see {_path(fault)} --help)")
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except BrokenPipeError:
        _mute()
        return DONE
    except SystemExit as leaving:
        # The framework turns a closed pipe into this.
        if not isinstance(leaving.__context__, BrokenPipeError):
            raise
        _mute()
        return DONE
    except (ConfigurationError, BadParameter) as fault:
        say(str(fault))
        return USAGE
    except SourcelightError as fault:
        hint = getattr(fault, "hint", "")
        say(f"{fault}: {hint}" if hint and hint not in str(fault) else str(fault))
        return FAILED
    except OSError as fault:
        name = f"{fault.filename}: " if fault.filename else ""
        say(f"{name}{fault.strerror or fault}")
        return FAILED
    except Exception as fault:
        if os.environ.get("SOURCELIGHT_TRACEBACK"):
            raise
        say(f"internal error: {type(fault).__name__}: {fault} (SOURCELIGHT_TRACEBACK=1 shows where)")
        return FAILED
    if status == INTERRUPTED:
        say("interrupted")
    return status if isinstance(status, int) else DONE


def _text(fault: BaseException) -> str:
    form = getattr(fault, "format_message", None)
    return str(form() if form is not None else fault).rstrip(".")


def _path(fault: BaseException) -> str:
    context = getattr(fault, "ctx", None)
    return str(getattr(context, "command_path", "sourcelight"))


def _mute() -> None:
    # The interpreter flushes standard output at exit, which would fail once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
