// Prints what the TypeScript language service says of a project, one JSON object a line.
// definitions: where random identifiers are defined. references: the uses of what random files declare under one name,
// and every place with that name. calls: the callers and callees of random functions, by the call hierarchy, after a
// line with the files that were read and the calls that nobody can tell. Install the packages of the checkout first (without running their scripts), or what
// leads through them is not resolved.
const ts = require("typescript"), fs = require("fs"), path = require("path");
const [root0, what, count0, seed0] = process.argv.slice(2);
const root = fs.realpathSync(root0);
const config = ts.findConfigFile(root, ts.sys.fileExists) || "";
const parsed = config ? ts.parseJsonConfigFileContent(ts.readConfigFile(config, ts.sys.readFile).config, ts.sys, path.dirname(config)) : { options: { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, jsx: ts.JsxEmit.Preserve, strict: true }, fileNames: [] };
const files = ts.sys.readDirectory(root, [".ts", ".tsx", ".js", ".jsx", ".mts"], ["**/node_modules", "**/dist"], ["**/*"]);
parsed.options.allowJs = true; parsed.options.skipLibCheck = true; parsed.options.noEmit = true;
const host = {
  getScriptFileNames: () => files, getScriptVersion: () => "1",
  getScriptSnapshot: f => fs.existsSync(f) ? ts.ScriptSnapshot.fromString(fs.readFileSync(f, "utf8")) : undefined,
  getCurrentDirectory: () => root, getCompilationSettings: () => parsed.options,
  getDefaultLibFileName: o => ts.getDefaultLibFilePath(o), fileExists: ts.sys.fileExists, readFile: ts.sys.readFile,
  realpath: ts.sys.realpath,
  readDirectory: ts.sys.readDirectory, directoryExists: ts.sys.directoryExists, getDirectories: ts.sys.getDirectories,
};
const service = ts.createLanguageService(host, ts.createDocumentRegistry());
let seed = Number(seed0 || 7);
const random = () => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return seed / 0x7fffffff; };
const program = service.getProgram();
const all = [];
for (const f of files) {
  const source = program.getSourceFile(f);
  if (!source || source.isDeclarationFile) continue;
  const visit = n => { if (ts.isIdentifier(n) && n.text.length) all.push([source, n]); ts.forEachChild(n, visit); };
  visit(source);
}
for (let i = all.length - 1; i > 0; i--) { const j = Math.floor(random() * (i + 1)); [all[i], all[j]] = [all[j], all[i]]; }
const rel = f => path.relative(root, f).split(path.sep).join("/");
const bytes = (f, at) => Buffer.byteLength(program.getSourceFile(path.join(root, f)).text.slice(0, at));
const own = f => !rel(f).startsWith("..") && !f.includes("node_modules");

function definitions(left) {
  for (const [source, n] of all) {
    if (!left) break;
    const p = n.parent;
    let category = "name";
    if (ts.isPropertyAccessExpression(p) && p.name === n) category = p.expression.kind === ts.SyntaxKind.ThisKeyword ? "attribute on this" : "attribute";
    else if (ts.isImportSpecifier(p) || ts.isImportClause(p) || ts.isNamespaceImport(p)) category = "import statement";
    else if ((ts.isPropertyAssignment(p) || ts.isShorthandPropertyAssignment(p) || ts.isJsxAttribute(p) || ts.isMethodDeclaration(p) && ts.isObjectLiteralExpression(p.parent)) && p.name === n) category = "object key";
    else if (ts.isBindingElement(p) && p.propertyName === n) category = "object key";
    const found = (service.getDefinitionAtPosition(source.fileName, n.getStart(source)) || []).filter(d => !rel(d.fileName).startsWith("..") && !d.fileName.includes("node_modules"));
    if (!found.length || found[0].kind === "alias") continue;
    const targets = found.map(d => [rel(d.fileName), d.textSpan.start]);
    const self = targets.some(t => t[0] === rel(source.fileName) && t[1] === n.getStart(source));
    if (self && category !== "object key") continue;
    if (category === "name" && found[0].fileName !== source.fileName) category = "imported name";
    left--;
    console.log(JSON.stringify({ file: rel(source.fileName), offset: bytes(rel(source.fileName), n.getStart(source)), name: n.text, category, targets: targets.map(([f, at]) => [f, bytes(f, at)]) }));
  }
}

function references(left) {
  const places = new Map(), asked = new Map(), declared = new Map();
  for (const [source, n] of all) {
    const file = rel(source.fileName), at = n.getStart(source);
    if (!places.has(n.text)) places.set(n.text, []);
    places.get(n.text).push([file, at]);
    const p = n.parent;
    if (!p || p.name !== n) continue;
    const key = JSON.stringify([file, n.text]);
    const drawn = ts.isFunctionDeclaration(p) || ts.isClassDeclaration(p) || ts.isMethodDeclaration(p) ||
      ts.isInterfaceDeclaration(p) || ts.isTypeAliasDeclaration(p) || ts.isEnumDeclaration(p);
    // Whatever else the file declares under that name belongs to the question, but for variables and parameters.
    const also = ts.isMethodSignature(p) || ts.isPropertySignature(p) || ts.isPropertyDeclaration(p) || ts.isAccessor(p) ||
      ts.isEnumMember(p) || ts.isModuleDeclaration(p) || ts.isPropertyAssignment(p) || ts.isClassExpression(p);
    if (drawn && !asked.has(key)) asked.set(key, []);
    if (!drawn && !also) continue;
    if (!declared.has(key)) declared.set(key, []);
    declared.get(key).push(at);
  }
  for (const key of asked.keys()) {
    if (!left) break;
    const [file, name] = JSON.parse(key), found = new Set(), offsets = declared.get(key);
    for (const at of offsets)
      for (const r of service.getReferencesAtPosition(path.join(root, file), at) || [])
        if (own(r.fileName) && program.getSourceFile(r.fileName).text.substr(r.textSpan.start, name.length) === name)
          found.add(JSON.stringify([rel(r.fileName), r.textSpan.start]));
    if (found.size < 3 || places.get(name).length > 1500) continue;
    // A place is only judged where the service itself knows what stands there: without installed packages it may not.
    const resolved = ([f, at]) => found.has(JSON.stringify([f, at])) ||
      (service.getDefinitionAtPosition(path.join(root, f), at) || []).some(d => own(d.fileName) && d.kind !== "alias");
    left--;
    const shown = held => held.map(([f, at]) => [f, bytes(f, at)]);
    const row = { file, name, references: shown([...found].map(one => JSON.parse(one))), known: shown(places.get(name).filter(resolved)) };
    console.log(JSON.stringify(row));
  }
}

// The name that a call names; the call hierarchy counts elements, tagged templates and decorators too.
function called(n) {
  let target = ts.isCallExpression(n) || ts.isNewExpression(n) || ts.isDecorator(n) ? n.expression :
    ts.isTaggedTemplateExpression(n) ? n.tag : ts.isJsxOpeningElement(n) || ts.isJsxSelfClosingElement(n) ? n.tagName : undefined;
  const name = target && ts.skipOuterExpressions(target);
  if (!name) return undefined;
  return ts.isIdentifier(name) ? [target, name] : ts.isPropertyAccessExpression(name) ? [target, name.name] : undefined;
}

function calls(left) {
  const checker = program.getTypeChecker(), known = [], undecided = [], drawn = [];
  const byName = new Map(), byTarget = new Map(), nested = new Map();
  const line = (source, at) => source.getLineAndCharacterOfPosition(at).line + 1;
  for (const f of files) {
    const source = program.getSourceFile(f), file = rel(f);
    if (!source || source.isDeclarationFile || !own(f)) continue;
    known.push(file);
    const around = [];
    const visit = n => {
      const made = called(n);
      if (made) {
        const [target, name] = made, here = line(source, name.getStart(source));
        // The call hierarchy gives calls in functions of object literals and assignments to what is around these.
        const between = [];
        for (let up = n.parent; up && !ts.isClassLike(up); up = up.parent) {
          if (!ts.isArrowFunction(up) && !ts.isFunctionExpression(up) && ts.isFunctionLike(up)) break;
          const holder = ts.isArrowFunction(up) || ts.isFunctionExpression(up) ? up.parent : undefined;
          if (holder && (ts.isPropertyDeclaration(holder) || ts.isVariableDeclaration(holder) && holder.parent.flags & ts.NodeFlags.Const)) break;
          const key = holder && (ts.isBinaryExpression(holder) ? holder.left.name : holder.name);
          if (key) between.push(line(source, key.getStart(source)));
        }
        byTarget.set(JSON.stringify([file, target.getStart(source), target.getEnd()]), here);
        let symbol = checker.getSymbolAtLocation(name);
        if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
        const names = ((symbol && symbol.declarations) || []).map(d => d.name && d.name.text);
        byName.set(JSON.stringify([file, name.getStart(source)]), [here, between, names]);
        if (!symbol || symbol.escapedName === "unknown" || !(symbol.declarations || []).length) undecided.push([file, here, name.text]);
      }
      const value = ts.isVariableDeclaration(n) || ts.isPropertyDeclaration(n) ? n.initializer : undefined;
      const body = value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value)) ? value.body : n.body;
      const named = n.name && (ts.isIdentifier(n.name) || ts.isPrivateIdentifier(n.name)) && body &&
        (ts.isFunctionLike(n) || value) && !ts.isTypeNode(n);
      if (named) {
        const group = ts.isObjectLiteralExpression(n.parent) ? "members of object literals" : undefined;
        const at = n.name.getStart(source), one = { source, file, at, name: n.name.text, inner: [], group };
        for (const outer of around) outer.inner.push(one);
        if (!ts.isAccessor(n)) drawn.push(one); // accessors are read, never called
        around.push(one);
      }
      ts.forEachChild(n, visit);
      if (named) around.pop();
    };
    visit(source);
  }
  console.log(JSON.stringify({ files: known, undecided }));
  for (let i = drawn.length - 1; i > 0; i--) { const j = Math.floor(random() * (i + 1)); [drawn[i], drawn[j]] = [drawn[j], drawn[i]]; }
  const at = item => item.kind === "script" || item.kind === "module" && item.selectionSpan.start === 0 ? 0 : line(program.getSourceFile(item.file), item.selectionSpan.start);
  // Of overloads the call hierarchy gives the first one, we the one with the body: the same function.
  const body = item => {
    const source = program.getSourceFile(item.file), name = ts.getTokenAtPosition(source, item.selectionSpan.start);
    const symbol = ts.isIdentifier(name) ? checker.getSymbolAtLocation(name) : undefined;
    const whole = ((symbol && symbol.declarations) || []).find(d => ts.isFunctionLike(d) && d.body && d.name && rel(d.getSourceFile().fileName) === rel(item.file));
    return whole ? line(source, whole.name.getStart(source)) : at(item);
  };
  for (const one of drawn.slice(0, left)) {
    const callers = [], callees = [], differing = [];
    for (const call of service.provideCallHierarchyIncomingCalls(one.source.fileName, one.at) || [])
      for (const span of own(call.from.file) ? call.fromSpans : []) {
        // The call hierarchy also counts methods that are only read; those are no calls.
        const here = byName.get(JSON.stringify([rel(call.from.file), span.start]));
        // Past a default export it also gives calls of what the function returned: `got(url)` for `got = create(…)`.
        if (here && !here[2].includes(one.name)) differing.push([rel(call.from.file), here[0], one.name]);
        else if (here) callers.push([rel(call.from.file), here[0], at(call.from), ...here[1]]);
      }
    // What a function inside a function calls counts for the outer one too.
    for (const inner of [one, ...one.inner])
      for (const call of service.provideCallHierarchyOutgoingCalls(inner.source.fileName, inner.at) || [])
        for (const span of own(call.to.file) ? call.fromSpans : []) {
          const here = byTarget.get(JSON.stringify([one.file, span.start, span.start + span.length]));
          if (here) callees.push([here, rel(call.to.file), body(call.to)]);
        }
    console.log(JSON.stringify({ file: one.file, line: line(one.source, one.at), name: one.name, group: one.group, callers, callees, undecided: differing }));
  }
}

if (what === "calls") calls(Number(count0 || 200));
else if (what === "references") references(Number(count0 || 150));
else definitions(Number(count0 || 1500));
