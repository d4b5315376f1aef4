// Prints what the TypeScript language service says of a project, one JSON object a line.
// definitions: where random identifiers are defined. references: the uses of what random files declare under one name,
// and every place with that name. Install the packages of the checkout first (without running their scripts), or what
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

if (what === "references") references(Number(count0 || 150));
else definitions(Number(count0 || 1500));
