"""What imports a module or a repository, and what a repository imports."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from sourcelight.core.markup import code
from sourcelight.core.query.languages import path_regex
from sourcelight.engines.deepsearch.facts.model import Fact, LineOf, Rows, Work, lacks, shown_call
from sourcelight.engines.deepsearch.facts.paths import TEST_FILES
from sourcelight.engines.deepsearch.facts.searches import plural


def importing_files(work: Work) -> Fact:
    """Count files (or repositories) that import a module, a package, a header or a repository's own modules."""
    request = work.request
    wanted = [term.text.strip("/") for term in request.terms]
    fact = Fact(0, "", f"pd.concat([code.imports(name) for name in {work.names!r}])", unit=request.kind)
    lines = Rows("Imports", ("repository", "path", "line_number", "module"))
    files: Counter[tuple[str, str]] = Counter()
    pattern = [path.pattern for path in request.paths]
    languages = [path_regex(name) for name in request.languages]
    visible = [each.name for each in work.inquiry.context.engine.catalog.visible(work.inquiry.context.viewer)]
    targets = {name for name in visible for text in wanted if name == text or name.endswith(f"/{text}")}
    for target in work.targets:
        name = target.repository.name
        arguments = {"repo": name, **({"revision": target.commit} if target.revision else {})}
        answer = work.call("imports", arguments)
        fact.notes += [f"{name}: {notice}" for notice in lacks(answer)]
        for row in answer.table.to_pylist():
            path = row["path"]
            if pattern and not any(re.search(each, path) for each in pattern):
                continue
            if languages and not any(re.search(each, path) for each in languages):
                continue
            if request.tests is not None and bool(re.search(TEST_FILES, path)) is not request.tests:
                continue
            if name in targets and row["target_repository"] == name:
                continue
            if any(is_import_of(row, text, of_repository=bool(targets)) for text in wanted):
                files[name, path] += 1
                lines.add(
                    (name, path, row["line_number"], row["module"]),
                    LineOf(name, target.commit, path, row["line_number"] or 1),
                )
    said = " or ".join(code(text) for text in wanted)
    per = Counter(name for name, _ in files)
    fact.repositories = per
    number = len(files) if request.kind == "files" else len(per)
    fact.number = number
    noun = "file" if request.kind == "files" else "repository"
    if request.kind != "files":
        fact.unit, fact.repositories = "repositories", Counter(dict.fromkeys(per, 1))
    fact.subject = f"{plural(noun, number)} {'import' if number != 1 else 'imports'} {said}"
    fact.more.append(
        f"They have {lines.total:,} {plural('import', lines.total)} of it in "
        f"{len(files):,} {plural('file', len(files))} of {len(per):,} {plural('repository', len(per))}."
    )
    fact.rule = (
        "Imports count as the grammar of each language reads them: of the module itself and of what is below it."
    )
    table = Rows("Files", ("repository", "path", "imports"))
    for (repository, path), each in sorted(files.items()):
        target_of = work.inquiry.pins.of(repository)
        table.add((repository, path, each), LineOf(repository, target_of.commit if target_of else "", path))
    fact.tables = [table, lines]
    return fact


def is_import_of(row: dict[str, Any], text: str, *, of_repository: bool = False) -> bool:
    """Tell whether an import means a module, something below it, a file, or a module of a repository."""
    module = (row["module"] or "").strip('"<>')
    for separator in (".", "/", "::", "\\"):
        if module == text or module.startswith(f"{text}{separator}"):
            return True
    member = row["member"] or ""
    if member and any(f"{module}{separator}{member}" == text for separator in (".", "/", "::")):
        return True
    if not of_repository and re.split(r"/|::", module)[-1].lstrip(".") == text:
        return True
    path, repository = row["target_path"] or "", row["target_repository"] or ""
    if path and (path == text or path.endswith(f"/{text}")):
        return True
    return repository == text or repository.endswith(f"/{text}")


def dependencies(work: Work) -> Fact:
    """Count what repositories import that is not their own."""
    arguments = {"repos": work.names}
    answer = work.call("dependency_graph", arguments)
    fact = Fact(
        0,
        "",
        shown_call("dependency_graph", arguments) + ".edges",
        unit="dependencies",
        adds_up=False,
        notes=lacks(answer),
    )
    files: Counter[str] = Counter()
    external: dict[str, bool] = {}
    for row in answer.table.to_pylist():
        files[row["target"]] += row["files"]
        external[row["target"]] = row["external"]
        fact.repositories[row["source"]] += 1
    fact.number = len(files)
    inner = sum(not each for each in external.values())
    fact.subject = f"{plural('dependency', len(files))} {'are' if len(files) != 1 else 'is'} imported"
    fact.more.append(
        f"{inner:,} of them {'are' if inner != 1 else 'is'} among the repositories "
        f"here, {len(files) - inner:,} {'are' if len(files) - inner != 1 else 'is'} not."
    )
    fact.rule = (
        "What source files import counts, by top-level module or package, those of the language itself "
        "included; what a manifest lists and nothing imports does not."
    )
    table = Rows("Dependencies", ("dependency", "here", "files"))
    for name, number in sorted(files.items(), key=lambda item: (external[item[0]], -item[1], item[0])):
        table.add((name, "no" if external[name] else "yes", number))
    fact.tables = [table]
    return fact
