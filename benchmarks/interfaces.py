"""Public symbols that two releases of a Python package differ in, beside Python itself and griffe, in one run.

Method. Each release is installed in a folder of its own, and imported by a new process that lists the public names of
its public modules, the public members of their classes, and the parameters that `inspect` gives: names, kinds and which
have defaults. Names that are there in one release alone, and functions whose parameters differ, are compared with our
table. Functions that it has beyond these differ in annotations, default values or decorators: they are counted. griffe
reads the same two revisions from git and lists what breaks callers. CPU is that of this process for us, of its own for
griffe, imports excluded.

    pip install --target OLD httpx==0.26.0; pip install --target NEW httpx==0.27.0
    python benchmarks/interfaces.py CLONE 0.26.0 0.27.0 --package httpx --old OLD --new NEW [--griffe PATH/python]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import sourcelight as sl

# Runs in a process of its own, because two releases of one package cannot be imported into the same.
_INSPECTED = r"""
import enum, importlib, inspect, json, pkgutil, sys, types
name = sys.argv[2]
sys.path.insert(0, sys.argv[1])
package = importlib.import_module(name)
HIDDEN = {"__module__", "__doc__", "__dict__", "__weakref__", "__qualname__", "__annotations__", "__firstlineno__",
          "__static_attributes__", "__abstractmethods__", "__parameters__", "__orig_bases__", "__match_args__",
          "__dataclass_fields__", "__dataclass_params__", "__attrs_attrs__", "__attrs_own_setattr__", "__attrs_props__",
          "__hash__", "__annotate_func__", "__annotations_cache__", "__protocol_attrs__", "__attrs_base_of_slotted__"}
found = {}
def public(part): return part[:1] != "_" or (part[:2] == part[-2:] == "__")
def signature(value):
    try: parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError): return ""
    return "(%s)" % ", ".join("%s %s %s" % (p.kind.name, p.name, p.default is not p.empty) for p in parameters)
def generated(value):
    code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
    return code is not None and code.co_filename.startswith("<")
def ours(value): return (getattr(value, "__module__", None) or "").split(".")[0] in {name, name.rstrip("s"), name + "s"}
def listed(cls):
    home = cls.__module__.split(".")
    return not any(part.startswith("_") for part in home) and not cls.__name__.startswith("_")
def add_class(where, qualified, cls, depth):
    names = {}
    for base in reversed(cls.__mro__):
        if ours(base) and (base is cls or not listed(base)):
            names |= dict(vars(base)) | {key: None for key in vars(base).get("__annotations__", ())
                                         if key not in vars(base)}
    for key, value in names.items():
        if key in HIDDEN or not public(key) or generated(value): continue
        plain = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        found[where + ":" + qualified + "." + key] = signature(plain) if inspect.isfunction(plain) else ""
        inner = inspect.isclass(plain) and plain.__qualname__.startswith(cls.__qualname__ + ".")
        if inner and ours(plain) and depth < 3:
            add_class(where, qualified + "." + key, plain, depth + 1)
modules = [package]
for info in pkgutil.walk_packages(package.__path__, name + "."):
    if not any(part.startswith("_") for part in info.name.split(".")) and ".tests" not in info.name:
        try: modules.append(importlib.import_module(info.name))
        except BaseException: pass
for module in modules:
    where, initial = module.__name__, hasattr(module, "__path__")
    names, source = getattr(module, "__all__", None), open(module.__file__).read()
    for key in names if names is not None else [key for key in vars(module) if not key.startswith("_")]:
        value = getattr(module, key, None)
        if isinstance(value, types.ModuleType): continue
        home = getattr(value, "__module__", None)
        stars = "import *" in source
        exported = (initial or stars) and ours(value)
        if names is None and isinstance(home, str) and home != where and not exported: continue
        if names is None and not isinstance(home, str) and not initial and key not in source: continue
        if names is None and getattr(value, "__name__", key) != key and home in {"typing", "builtins"}: continue
        found[where + ":" + key] = signature(value) if inspect.isfunction(value) else ""
        if inspect.isclass(value) and ours(value) and (not listed(value) or value.__module__ == where):
            add_class(where, key, value, 0)
json.dump(found, sys.stdout)
"""
_GRIFFE = """
import json, sys, time
import griffe
repository, base, head, name, *folders = sys.argv[1:]
start = time.process_time()
old, new = (griffe.load_git(name, ref=ref, repo=repository, search_paths=folders or None) for ref in (base, head))
rows = [(item.kind.name, item.obj.path) for item in griffe.find_breaking_changes(old, new)]
json.dump({"seconds": time.process_time() - start, "rows": rows}, sys.stdout)
"""


def inspected(python: str, folder: str, package: str) -> dict[str, str]:
    """Public names of an installed release and the signatures of its functions, by importing it."""
    done = subprocess.run([python, "-c", _INSPECTED, folder, package], check=True, capture_output=True, text=True)
    names: dict[str, str] = json.loads(done.stdout)
    return names


def module_of(path: str) -> str:
    """The dotted name of a file's module."""
    return path.removesuffix(".py").removesuffix("/__init__").removeprefix("src/").replace("/", ".")


def share(part: set[str], full: set[str]) -> str:
    """A part of a whole as a percentage."""
    return f"{len(part & full)} of {len(full)}"


def main() -> None:
    """Print agreement with each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository")
    parser.add_argument("base")
    parser.add_argument("head")
    parser.add_argument("--package", required=True)
    parser.add_argument("--old", required=True, help="folder in which the older release is installed")
    parser.add_argument("--new", required=True)
    parser.add_argument("--griffe", help="Python that has griffe")
    parser.add_argument("--source", default="", help="folder of the package's parent, such as src")
    parser.add_argument("--show", type=int, default=5)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        sl.open(options.repository, index_dir=folder, background_index=False) as code,
    ):
        repository = code.list_repos()["repository"].iloc[0]
        start = time.process_time()
        frame = code.api_changes(repository, options.base, options.head)
        seconds = time.process_time() - start
    frame = frame[frame["language"] == "Python"]
    prefix = f"{options.source}." if options.source and options.source != "src" else ""
    modules = frame["module"].astype(str).str.removeprefix(prefix)
    keys = modules + ":" + frame["symbol"]
    ours = {status: set(keys[frame["status"] == status]) for status in ("added", "removed", "changed")}
    moved = frame["status"] == "moved"
    left = frame["old_path"].astype(object).fillna("").map(module_of)
    ours["added"] |= set(keys[moved])
    ours["removed"] |= set((left + ":" + frame["symbol"])[moved])
    within = modules.str.split(".").str[0] == options.package
    ours = {status: {key for key in names if key.split(":")[0].split(".")[0] == options.package}
            for status, names in ours.items()}  # fmt: skip
    old, new = (inspected(sys.executable, folder, options.package) for folder in (options.old, options.new))
    truth = {
        "added": new.keys() - old.keys(),
        "removed": old.keys() - new.keys(),
        "changed": {name for name in old.keys() & new.keys() if old[name] != new[name]},
    }
    functions = {name for name in old.keys() & new.keys() if old[name] and new[name]}
    print(f"{options.package} {options.base} to {options.head}: {len(new):,} public names; CPU {seconds:.2f} s")
    for status, expected in truth.items():
        got = ours[status] & functions if status == "changed" else ours[status]
        extra = set() if status == "changed" else got - set(expected)
        print(f"{status}: of Python's {share(got, set(expected))}; of ours {share(set(expected), got)}")
        for label, names in (("missed", set(expected) - got), ("extra", extra)):
            print(*(f"  {label} {name}" for name in sorted(names)[: options.show]), sep="\n", end="\n" if names else "")
    if options.griffe:
        files = frame["path"].astype(object).fillna(frame["old_path"].astype(object))[within].map(module_of)
        defined = set(files + "." + frame["symbol"][within])
        compare_griffe(options, defined)


def compare_griffe(options: argparse.Namespace, listing: set[str]) -> None:
    """What griffe says breaks callers, and whether it is in our table."""
    folders = [options.source] if options.source else []
    command = [options.griffe, "-c", _GRIFFE, str(Path(options.repository).resolve()), options.base, options.head,
               options.package, *folders]  # fmt: skip
    peer: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    paths = {path.partition("(")[0] for _, path in peer["rows"]}
    print(f"griffe: {len(paths)} names, {len(paths & listing)} of them here; CPU {peer['seconds']:.2f} s")
    print(*(f"  only griffe {path}" for path in sorted(paths - listing)[: options.show]), sep="\n")


if __name__ == "__main__":
    main()
