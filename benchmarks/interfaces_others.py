"""Public symbols of Go, Java and TypeScript that two releases differ in, beside the languages' own tools, in one run.

Run: ``python benchmarks/interfaces_others.py CLONE OLD NEW --language go|java|typescript [--package IMPORT_PATH]
[--directory DIRECTORY] [--tool COMMAND_OR_FOLDER]``. Both revisions are extracted with ``git archive``.

- Go: ``apidiff`` (``go install golang.org/x/exp/cmd/apidiff@latest``), which type-checks one package; ``--tool`` is the
  command. Values of constants, which it compares too, are left out.
- Java: the parser of javac (``com.sun.source``), by a program that ``java`` runs from source.
- TypeScript: the parser of ``typescript`` from npm, by a program for ``node``; ``--tool`` is the folder with
  ``node_modules``.

For Java and TypeScript the peer lists the public symbols of each release and their declarations, and the differences
are taken here. Prints how many names were added, removed and changed on each side, and every name that only one has.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import sourcelight as sl
from sourcelight.engines.interfaces import is_public_file

Names = dict[str, set[str]]
"""Names by ``added``, ``removed`` and ``changed``."""

_JAVA = r"""
import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.nio.file.*;
import java.util.*;
import javax.lang.model.element.Modifier;
import javax.tools.*;

public class Api {
  static boolean open(Set<Modifier> flags) {
    return flags.contains(Modifier.PUBLIC) || flags.contains(Modifier.PROTECTED);
  }
  static void print(String module, String name, String text) {
    System.out.println(module + ":" + name + "\t" + text.replaceAll("\\s+", " "));
  }
  static String plain(Set<Modifier> flags) { return new TreeSet<>(flags).toString(); }
  static void type(String module, String outer, ClassTree tree, boolean always) {
    if (!always && !open(tree.getModifiers().getFlags())) return;
    String name = outer + tree.getSimpleName();
    boolean inner = tree.getKind() == Tree.Kind.INTERFACE || tree.getKind() == Tree.Kind.ANNOTATION_TYPE;
    print(module, name, plain(tree.getModifiers().getFlags()) + tree.getKind() + tree.getTypeParameters()
        + tree.getExtendsClause() + tree.getImplementsClause());
    for (Tree member : tree.getMembers()) {
      if (member instanceof ClassTree c) type(module, name + ".", c, inner);
      else if (member instanceof MethodTree m) {
        Set<Modifier> flags = m.getModifiers().getFlags();
        if (!open(flags) && !(inner && !flags.contains(Modifier.PRIVATE))) continue;
        List<String> types = new ArrayList<>();
        for (VariableTree p : m.getParameters()) types.add(p.getType() + "");
        String label = m.getName().contentEquals("<init>") ? tree.getSimpleName() + "" : m.getName() + "";
        print(module, name + "." + label,
            plain(flags) + m.getTypeParameters() + m.getReturnType() + types + m.getThrows());
      } else if (member instanceof VariableTree v) {
        boolean constant = (v.toString()).contains("/*public static final*/");
        if (!constant && !open(v.getModifiers().getFlags()) && !inner) continue;
        print(module, name + "." + v.getName(), plain(v.getModifiers().getFlags()) + v.getType());
      }
    }
  }
  public static void main(String[] args) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
    List<String> paths = Files.readAllLines(Path.of(args[0]));
    JavacTask task = (JavacTask) compiler.getTask(null, files, d -> {}, List.of("-proc:none"), null,
        files.getJavaFileObjectsFromStrings(paths));
    for (CompilationUnitTree unit : task.parse())
      for (Tree tree : unit.getTypeDecls())
        if (tree instanceof ClassTree c && c.getSimpleName().length() > 0)
          type(unit.getPackageName() + "", "", c, false);
  }
}
"""

_TYPESCRIPT = r"""
const ts = require("typescript"), fs = require("fs");
const [root, list] = process.argv.slice(2);
const printer = ts.createPrinter({ removeComments: true });
const out = (m, n, t) => console.log(m + ":" + n + "\t" + t.replace(/\s+/g, " ").replace(/[;,]\s*$/, ""));
for (const path of fs.readFileSync(list, "utf8").split("\n").filter(Boolean)) {
  const file = ts.createSourceFile(path, fs.readFileSync(root + "/" + path, "utf8"), ts.ScriptTarget.Latest, true);
  const module = path.replace(/\.tsx?$/, "").replace(/\.d$/, "");
  const text = n => printer.printNode(ts.EmitHint.Unspecified, n, file);
  const has = (n, k) => (ts.canHaveModifiers(n) && ts.getModifiers(n) || []).some(x => x.kind === k);
  const K = ts.SyntaxKind, head = n => n.body ? file.text.slice(n.getStart(file), n.body.pos) : text(n);

  const names = s => ts.isVariableStatement(s)
    ? s.declarationList.declarations.map(d => d.name.getText(file)) : s.name ? [s.name.getText(file)] : [];
  function members(prefix, n) {
    for (const m of n.members || []) {
      if (ts.isEnumMember(m)) { out(module, prefix + m.name.getText(file), m.name.getText(file)); continue; }
      if (!m.name || ts.isPrivateIdentifier(m.name)) continue;
      if (has(m, K.PrivateKeyword) || has(m, K.ProtectedKeyword)) continue;
      out(module, prefix + m.name.getText(file), ts.isPropertyDeclaration(m) && m.initializer
        ? file.text.slice(m.getStart(file), m.initializer.pos) : head(m));
    }
  }
  function declare(prefix, n, as) {
    if (ts.isVariableStatement(n)) {
      for (const d of n.declarationList.declarations) {
        if (!ts.isIdentifier(d.name) || as && d.name.text !== as[0]) continue;
        const f = d.initializer && (ts.isArrowFunction(d.initializer) || ts.isFunctionExpression(d.initializer));
        out(module, prefix + (as ? as[1] : d.name.text), (d.type ? text(d.type) : "") + (f ? head(d.initializer) : ""));
      }
      return;
    }
    const label = prefix + (as ? as[1] : n.name ? n.name.getText(file) : "default");
    if (ts.isModuleDeclaration(n)) {
      out(module, label, "namespace");
      return exports(label + ".", n.body.statements || []);
    }
    if (ts.isTypeAliasDeclaration(n) || ts.isFunctionDeclaration(n)) { out(module, label, head(n)); return; }
    out(module, label, (n.typeParameters || []).map(text).join() + (n.heritageClauses || []).map(text).join());
    members(label + ".", n);
  }
  function exports(prefix, statements) {
    const table = Object.create(null);
    for (const s of statements) for (const name of names(s)) (table[name] ||= []).push(s);
    for (const s of statements) {
      if (ts.isExportAssignment(s)) out(module, prefix + "default", text(s.expression));
      else if (ts.isExportDeclaration(s)) {
        const from = s.moduleSpecifier ? " from " + s.moduleSpecifier.getText(file) : "";
        if (!s.exportClause) out(module, prefix + "*" + from, "*");
        else if (ts.isNamespaceExport(s.exportClause))
          out(module, prefix + s.exportClause.name.text, "namespace" + from);
        else for (const e of s.exportClause.elements) {
          const inner = from ? null : table[(e.propertyName || e.name).text];
          if (inner) inner.forEach(n => declare(prefix, n, [(e.propertyName || e.name).text, e.name.text]));
          else out(module, prefix + e.name.text, text(e) + from);
        }
      } else if (has(s, K.ExportKeyword))
        declare(prefix, s, has(s, K.DefaultKeyword) ? [s.name && s.name.text, "default"] : null);
    }
  }
  exports("", file.statements);
}
"""


def extract(clone: Path, revision: str, target: Path, directory: str) -> Path:
    """A folder with the files of a revision."""
    git = ["git", "-C", str(clone), "archive", revision, *([directory] if directory else [])]
    archive = subprocess.run(git, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(target, filter="data")
    return target


def go_differences(tool: str, package: str, old: Path, new: Path) -> Names:
    """What apidiff says."""
    command, environment = tool or "apidiff", {**os.environ, "GOFLAGS": "-mod=mod"}
    export = str(old.parent / "old.export")
    subprocess.run([command, "-w", export, package], cwd=old, env=environment, check=True, capture_output=True)
    done = subprocess.run([command, export, package], cwd=new, env=environment, check=True, capture_output=True)
    names: Names = {"added": set(), "removed": set(), "changed": set()}
    for line in done.stdout.decode().splitlines():
        match = re.match(r"- ([^:]+): (added|removed|changed)", line)
        if match:
            name = re.sub(r"^\(\*?([\w.]+)\)", r"\1", match[1]).removeprefix("./").removeprefix(".")
            names[match[2]].add(re.sub(r"\[.*?\]", "", name))
    return names


def list_symbols(language: str, tool: str, root: Path, directory: str) -> dict[str, list[str]]:
    """The public symbols of a release with their declarations, by the language's own parser."""
    suffixes = (".java",) if language == "java" else (".ts", ".tsx")
    paths = sorted(
        path.relative_to(root).as_posix()
        for path in (root / directory).rglob("*")
        if path.name.endswith(suffixes) and path.is_file() and is_public_file(path.relative_to(root).as_posix())
    )
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder, "paths")
        names.write_text("\n".join(str(root / path) if language == "java" else path for path in paths))
        program = Path(folder, "Api.java" if language == "java" else "api.cjs")
        program.write_text(_JAVA if language == "java" else _TYPESCRIPT)
        command = (
            ["java", str(program), str(names)] if language == "java" else ["node", str(program), str(root), str(names)]
        )
        environment = {**os.environ, "NODE_PATH": str(Path(tool or ".", "node_modules").resolve())}
        done = subprocess.run(command, env=environment, check=False, capture_output=True)
        if done.returncode:
            raise SystemExit(done.stderr.decode()[-2000:])
        output = done.stdout.decode()
    symbols: dict[str, list[str]] = {}
    for line in output.splitlines():
        name, _, text = line.partition("\t")
        symbols.setdefault(name, []).append(text)
    return symbols


def differences(old: dict[str, list[str]], new: dict[str, list[str]]) -> Names:
    """Names in one release alone, and those with other declarations."""
    return {
        "added": new.keys() - old.keys(),
        "removed": old.keys() - new.keys(),
        "changed": {name for name in old.keys() & new.keys() if set(old[name]) != set(new[name])},
    }


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("clone", type=Path)
    arguments.add_argument("old")
    arguments.add_argument("new")
    arguments.add_argument("--language", choices=["go", "java", "typescript"], required=True)
    arguments.add_argument("--package", default="", help="Go: import path of the package")
    arguments.add_argument("--directory", default="", help="directory to compare")
    arguments.add_argument("--tool", default="")
    request = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder, sl.open(request.clone, background_index=False) as code:
        repository = str(code.list_repos()["repository"].iloc[0])
        began = time.process_time()
        table = code.api_changes(repository, request.old, request.new, path=request.directory or None, progress=False)
        ours_s = time.process_time() - began
        old = extract(request.clone, request.old, Path(folder, "old"), "" if request.package else request.directory)
        new = extract(request.clone, request.new, Path(folder, "new"), "" if request.package else request.directory)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if request.language == "go":
            theirs = go_differences(request.tool, request.package, old, new)
        else:
            both = [list_symbols(request.language, request.tool, root, request.directory) for root in (old, new)]
            theirs = differences(*both)
            print(f"{len(both[1]):,} public names in {request.new}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    theirs_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ours: Names = {"added": set(), "removed": set(), "changed": set()}
    for row in table.to_dict("records"):
        if request.language == "go" and row["module"] != request.directory:
            continue
        prefix = "" if request.language == "go" else f"{row['module']}:"
        statuses = ("added",) if row["status"] == "moved" else (row["status"],)
        for status in statuses:
            ours[status].add(f"{prefix}{row['symbol']}")
    for status, names in theirs.items():
        same = ours[status] & names
        print(f"{status}: {len(same):,} same, {len(names):,} there, {len(ours[status]):,} here")
        for label, only in (("only there", names - same), ("only here", ours[status] - same)):
            print(
                *(f"  {label}: {json.dumps(name)}" for name in sorted(only)),
                sep="\n" if only else "",
                end="\n" if only else "",
            )
    print(f"CPU seconds: sourcelight {ours_s:.2f}, the peer {theirs_s:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
