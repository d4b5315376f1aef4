"""The long run: generate repositories and queries for some minutes, and compare every answer with the oracles.

    scripts/test fuzz --minutes 60 [--seed TEXT] [--jobs 2] [--areas text,history]
    scripts/test fuzz --seed TEXT --epoch 3 --areas text --case 17        one case again

Prints the cases tried by area, and of each finding the smallest form that was found and the command that repeats it.
Ends with 1 when there was a finding.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import secrets
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
warnings.simplefilter("ignore")  # the product warns of shallow clones on purpose

from oracles import fleets, leash, smaller  # noqa: E402 - tests/ has to be on the path first
from oracles.areas import AREAS, WEIGHTS  # noqa: E402
from oracles.epoch import Epoch  # noqa: E402

EPOCH_S = 45.0
MAX_FINDINGS = 20
TURNS = 10  # after so many turns come the areas that change a fleet
MADE_SMALLER = 3  # findings of an area and a fleet


@dataclass
class Tally:
    """What was tried, and what was found."""

    cases: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, str]] = field(default_factory=list)
    epochs: int = 0

    def add(self, other: Tally) -> None:
        """Add what another process tried."""
        self.cases += other.cases
        self.pairs += other.pairs
        self.findings += other.findings
        self.epochs += other.epochs


def schedule(areas: list[str], rng: Random) -> list[str]:
    """Areas in turn, each as often as its weight says."""
    turns = [name for name in areas for _ in range(WEIGHTS[name])] * TURNS
    rng.shuffle(turns)
    return turns + [name for name in areas if not WEIGHTS[name]]


def areas_of(areas: list[str], number: int) -> list[str]:
    """Areas of a fleet: a cluster is started for one in six, whose shards stay as they are."""
    left_out = "update" if number % 6 == 5 else "cluster"
    return areas if len(areas) == 1 else [name for name in areas if name != left_out]


def run_epoch(options: argparse.Namespace, number: int, ends: float, base: Path) -> Tally:
    """Ask about one fleet until a moment of the monotonic clock."""
    tally = Tally(epochs=1)
    numbers: Counter[str] = Counter()
    epoch = Epoch(f"{options.seed}/{number}", base / f"epoch-{number}", options.shapes)
    fleets.quiet_home(epoch.folder / "home")
    try:
        turns = schedule(areas_of(options.areas, number), epoch.rng("turns"))
        while time.monotonic() < ends and len(tally.findings) < MAX_FINDINGS:
            for area in turns:
                position = numbers[area]
                numbers[area] += 1
                finding = run_case(epoch, area, position, tally)
                if finding:
                    finding |= {"again": reproduction(options, number, f"--areas {area} --case {position}")}
                    tally.findings.append(finding)
                if time.monotonic() >= ends or len(tally.findings) >= MAX_FINDINGS:
                    break
    finally:
        epoch.close()
    return tally


def run_case(epoch: Epoch, area: str, position: int, tally: Tally) -> dict[str, str]:
    """One case; gives the finding, if it is one."""
    tally.cases[area] += 1
    try:
        outcome = AREAS[area](epoch, epoch.rng(area, position))
    except Exception:  # noqa: BLE001 - a fault of any kind is a finding
        return {"area": area, "subject": "", "difference": traceback.format_exc()[-3000:]}
    tally.pairs[area] += outcome.pairs
    if not outcome.difference:
        return {}
    if sum(finding["area"] == area for finding in tally.findings) >= MADE_SMALLER:
        return {"area": area, "subject": outcome.subject, "difference": outcome.difference}
    finding = {"area": area, "subject": outcome.subject, "difference": outcome.difference}
    try:
        finding |= smaller.smallest(epoch, area, outcome)
    except Exception:  # noqa: BLE001 - the finding counts, whether or not it gets smaller
        finding |= {"smaller": traceback.format_exc()[-500:]}
    return finding


def reproduction(options: argparse.Namespace, number: int, rest: str) -> str:
    """The command that asks the same again."""
    left_out = f" --leave-out {options.leave_out}" if options.leave_out else ""
    return f"scripts/test fuzz --seed {options.seed} --epoch {number}{left_out} {rest}"


def work(options: argparse.Namespace, first: int, ends: float, base: Path, out: Any, parent: Any) -> None:
    """Run epochs one after another in a process of its own, which ends with its parent."""
    leash.follow(parent, base)
    number = first
    while time.monotonic() < ends:
        try:
            tally = run_epoch(options, number, min(ends, time.monotonic() + EPOCH_S), base)
        except Exception:  # noqa: BLE001 - a fleet that cannot be opened is a finding, too
            finding = {"area": "open", "subject": "", "difference": traceback.format_exc()[-3000:]}
            tally = Tally(findings=[finding | {"again": reproduction(options, number, "--minutes 1")}])
        out.put(tally)
        number += options.jobs
    out.put(None)


def show(finding: dict[str, str]) -> None:
    """Print a finding."""
    print(f"\n== finding in {finding['area']}: {finding['subject']}\n{finding['difference']}")
    for name in ("smaller", "again"):
        if finding.get(name):
            print(f"{name}: {finding[name]}")
    sys.stdout.flush()


def long_run(options: argparse.Namespace, base: Path) -> Tally:
    """Run for the minutes asked for."""
    began = time.monotonic()
    ends = began + options.minutes * 60
    context = multiprocessing.get_context("spawn")
    out: Any = context.Queue()
    first = options.epoch or 0
    # Nobody else has the writer: however this process ends, the others read the end of the pipe.
    reader, writer = context.Pipe(duplex=False)
    processes = [
        context.Process(target=work, args=(options, first + job, ends, base, out, reader))
        for job in range(options.jobs)
    ]
    for process in processes:
        process.start()
    try:
        return gathered(processes, out, began)
    finally:
        writer.close()
        for process in processes:
            process.join(30)


def gathered(processes: Sequence[Any], out: Any, began: float) -> Tally:
    """What processes tell until they have ended; prints progress."""
    total = Tally()
    running = len(processes)
    while running:
        try:
            tally = out.get(timeout=30)
        except queue.Empty:
            running = sum(process.is_alive() for process in processes)
            continue
        if tally is None:
            running -= 1
            continue
        total.add(tally)
        for finding in tally.findings:
            show(finding)
        areas = ", ".join(f"{name} {count}" for name, count in sorted(total.cases.items()))
        minutes = (time.monotonic() - began) / 60
        print(f"{minutes:6.1f} min  {total.epochs} fleets  {areas}  {len(total.findings)} findings")
        sys.stdout.flush()
    for process in processes:
        process.join(30)
    if any(process.exitcode for process in processes):
        total.findings.append(
            {"area": "run", "subject": "a process ended", "difference": str([p.exitcode for p in processes])}
        )
    return total


def summary(total: Tally, options: argparse.Namespace, minutes: float) -> dict[str, Any]:
    """What is kept of a run."""
    return {
        "seed": options.seed,
        "minutes": round(minutes, 1),
        "jobs": options.jobs,
        "fleets": total.epochs,
        "areas": {
            name: {
                "cases": count,
                "texts": total.pairs[name],
                "findings": sum(f["area"] == name for f in total.findings),
            }
            for name, count in sorted(total.cases.items())
        },
        "findings": total.findings,
    }


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/test fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="how long; 60 unless given")
    parser.add_argument("--seed", default="", help="text that everything is drawn from; a fresh one unless given")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes; one for each core unless given"
    )
    parser.add_argument("--areas", default=",".join(AREAS), help=f"some of: {', '.join(AREAS)}")
    parser.add_argument("--epoch", type=int, help="number of the first fleet, or with --case the only one")
    parser.add_argument("--case", type=int, help="number of one case of one area")
    parser.add_argument("--leave-out", default="", help="repositories of the fleet that are left out, such as replaced")
    parser.add_argument("--until", action="store_true", help="with --case: all cases before it first")
    parser.add_argument("--summary", type=Path, help="file for what was tried and found, as JSON")
    options = parser.parse_args(arguments)
    options.areas = options.areas.split(",")
    if unknown := set(options.areas) - set(AREAS):
        parser.error(f"no area {', '.join(sorted(unknown))}; there are: {', '.join(AREAS)}")
    options.shapes = tuple(shape for shape in fleets.SHAPES if shape.name not in options.leave_out.split(","))
    options.seed = options.seed or secrets.token_hex(4)
    return options


def one_case(options: argparse.Namespace, base: Path) -> Tally:
    """Run one case again, or all cases of an area up to it."""
    tally = Tally(epochs=1)
    epoch = Epoch(f"{options.seed}/{options.epoch or 0}", base / "epoch", options.shapes)
    fleets.quiet_home(epoch.folder / "home")
    try:
        for index in range(0 if options.until else options.case, options.case + 1):
            finding = run_case(epoch, options.areas[0], index, tally)
            if finding:
                tally.findings.append(finding)
                show(finding)
    finally:
        epoch.close()
    return tally


def main(arguments: list[str] | None = None) -> int:
    """Run, print and give the exit code."""
    options = parsed(arguments)
    leash.end_at(signal.SIGTERM)
    began = time.monotonic()
    print(f"seed {options.seed}, areas {', '.join(options.areas)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="sourcelight-fuzz-", ignore_cleanup_errors=True) as folder:
        run = long_run if options.case is None else one_case
        total = run(options, Path(folder))
    info = summary(total, options, (time.monotonic() - began) / 60)
    print(f"\nseed {options.seed}, {info['minutes']} minutes, {options.jobs} processes, {total.epochs} fleets")
    for name, area in info["areas"].items():
        print(f"  {name:12} {area['cases']:>9,} cases {area['texts']:>13,} texts {area['findings']:>5} findings")
    if options.summary:
        options.summary.parent.mkdir(parents=True, exist_ok=True)
        options.summary.write_text(json.dumps(info, indent=1, ensure_ascii=False, default=repr) + "\n", "utf-8")
        print(f"written to {options.summary}")
    return 1 if total.findings else 0


if __name__ == "__main__":
    sys.exit(main())
