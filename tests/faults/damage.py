"""Damages index files at random and asks questions: run as a script, one process for each damage.

Prints one JSON line for each damage: its seed, what was damaged and how, and the verdict: `right` (every complete
answer is the right one), `refused` (an error of ours, or an answer that says that it is not complete), `lie` (a
complete answer with other rows), `raw` (an error that is not ours) or `crash` (the process died).

Usage: damage.py FOLDER SEED COUNT
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import random
import shutil
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sourcelight as sl
from sourcelight.core.errors import SourcelightError
from sourcelight.testing import RepositoryBuilder

QUERIES = (
    "needle count:all",
    r"/nee+dle \d+$/ count:all",
    r"/^\s*def / lang:python count:all",
    "type:path 7 count:all",
    "type:symbol needle count:all",
    "type:commit word count:all",
    "type:diff needle count:all",
    "repo:two absent-word",
)
_RIGHT, _REFUSED, _LIE, _RAW, _CRASH = range(5)
_VERDICTS = ("right", "refused", "lie", "raw", "crash")
_COLUMNS = ("repository", "path", "line_number", "line", "commit", "symbol", "matches", "files", "author", "lines")


def make(folder: Path) -> None:
    """Build two repositories and everything that is kept of them."""
    for number, name in enumerate(("one", "two")):
        builder = RepositoryBuilder(folder / "src" / name)
        for step in range(4):
            builder.commit(
                {
                    f"code/{step}-{index}.py": f"def needle_{index}():\n"
                    f"    return {index}  # needle {index + step + number}\n"
                    for index in range(12)
                }
                | {f"notes/{step}.txt": "".join(f"word {step} needle {index}\n" for index in range(20))},
                message=f"word {step}\n\nneedle",
            )
    truth = answers(folder, folder / "home")
    (folder / "modules.json").write_text(json.dumps(list(sys.modules)))
    (folder / "truth.json").write_text(json.dumps(truth))


def answers(folder: Path, home: Path) -> dict[str, Any]:
    """Ask everything; rows of complete answers, None for others."""
    os.environ["SOURCELIGHT_HOME"] = str(home)
    arguments: dict[str, Any] = {}
    with sl.open(folder / "src", index_dir=home / "index", progress=False, index_workers=1) as code:
        for query in QUERIES:
            arguments[query] = _answer(lambda query=query: _rows(code, query))  # type: ignore[misc]
        arguments["count"] = _answer(
            lambda: _row_texts(code.count_by("needle count:all", by=["repository"]).to_dict("list"))
        )
        arguments["nls"] = _answer(lambda: _row_texts(code.nls_search("where is the needle").to_dict("list")))
        arguments["ownership"] = _answer(lambda: _row_texts(code.ownership("one").to_dict("list")))
    return arguments


def _answer(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except SourcelightError:
        return None


def _rows(code: Any, query: str) -> Any:
    result = code.search(query, progress=False)
    # To make frames of the matches took a third of an attempt.
    return _row_texts(result.arrow.to_pydict()) if result.status == "complete" else None


def _row_texts(columns: Mapping[Any, list[Any]]) -> Any:
    """Return the rows of a table as texts, sorted."""
    return sorted(map(repr, zip(*(columns[name] for name in _COLUMNS if name in columns), strict=True)))


def damage(home: Path, draw: random.Random) -> str:
    """Change one file at random; say which and how."""
    files = sorted(p for p in home.rglob("*") if p.is_file() and p.name != "lock" and p.stat().st_size)
    file = draw.choice(files)
    raw = bytearray(file.read_bytes())
    kind = draw.choice(("flip", "flip", "flip", "zero", "noise", "cut", "grow", "swap", "delete", "empty"))
    position = draw.randrange(len(raw))
    if kind == "flip":
        raw[position] ^= 1 << draw.randrange(8)
    elif kind in {"zero", "noise"}:
        size = min(draw.choice((1, 8, 64, 4096)), len(raw) - position)
        raw[position : position + size] = bytes(size) if kind == "zero" else draw.randbytes(size)
    elif kind == "cut":
        del raw[position:]
    elif kind == "grow":
        raw += draw.randbytes(draw.choice((1, 16, 4096)))
    elif kind == "swap":
        raw = bytearray(draw.choice(files).read_bytes())
    elif kind == "empty":
        raw.clear()
    if kind == "delete":
        file.unlink()
    else:
        file.write_bytes(bytes(raw))
    return f"{kind} {file.relative_to(home)} at {position}"


def attempt(folder: Path, seed: int) -> tuple[int, str]:
    """Damage a copy in a process of its own; the verdict, and what there is to say."""
    home = folder / f"home-{seed}"
    shutil.copytree(folder / "home", home)
    note = folder / f"note-{seed}"
    child = os.fork()
    if child == 0:
        verdict = _RAW
        try:
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            verdict, message = _judge(folder, home, seed)
            note.write_text(message)
        except BaseException:  # noqa: BLE001 - the verdict on whatever happens
            note.write_text(traceback.format_exc())
        os._exit(verdict)
    status = os.waitpid(child, 0)[1]
    message = note.read_text() if note.exists() else ""
    note.unlink(missing_ok=True)
    shutil.rmtree(home, ignore_errors=True)
    return (
        (os.WEXITSTATUS(status), message)
        if os.WIFEXITED(status)
        else (_CRASH, f"signal {os.WTERMSIG(status)}; {message}")
    )


def _judge(folder: Path, home: Path, seed: int) -> tuple[int, str]:
    draw = random.Random(seed)  # noqa: S311 - the same damage for the same seed
    reply = damage(home, draw)
    (folder / f"note-{seed}").write_text(reply)
    truth = json.loads((folder / "truth.json").read_text())
    for round_name in ("first", "again"):
        results = answers(folder, home)
        wrong = [name for name, rows in results.items() if rows is not None and rows != truth[name]]
        if wrong:
            return _LIE, f"{reply}; {round_name}: {wrong}"
        if all(rows is not None for rows in results.values()):
            return _RIGHT, reply
    refused = [name for name, rows in results.items() if rows is None]
    return _REFUSED, f"{reply}; refused twice: {refused}"


def main() -> None:
    """Damage and ask."""
    folder, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    if not (folder / "truth.json").exists():
        # In a process of its own: a fork of one with threads may hang.
        child = os.fork()
        if child == 0:
            try:
                make(folder)
            except BaseException:  # noqa: BLE001 - said, then ended
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit("the sample could not be made")
    # What an answer needs is loaded once, before the forks: each took .3 s of a core to load it. The order matters to
    # `_asyncio`, which must not come before `asyncio`.
    for module in json.loads((folder / "modules.json").read_text()):
        with contextlib.suppress(ImportError):  # what a package keeps in `sys.modules` need not be a module
            importlib.import_module(module)
    if threading.active_count() > 1:
        sys.exit("a module starts a thread, and a fork of a process with threads may hang")
    gc.collect()
    gc.freeze()  # what a fork never looks at is never copied for it
    for number in range(seed, seed + count):
        verdict, message = attempt(folder, number)
        print(json.dumps({"seed": number, "verdict": _VERDICTS[min(verdict, _CRASH)], "said": message}), flush=True)  # noqa: T201 - a script's answer


if __name__ == "__main__":
    main()
