"""Names of TypeScript and JavaScript files lead to what the language service says; § marks the name in each line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from engines.navigation.marked import Marked, offset
from sourcelight.engines.navigation import ResolvedDefinition
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.languages.typescript import TypeScriptLanguage
from sourcelight.engines.navigation.languages.typescript.modules import normal

APP = {
    "package.json": '{"name": "app", "dependencies": {"@acme/shapes": "1"}}',
    "tsconfig.json": """{
  // paths as people write them
  "compilerOptions": { "baseUrl": ".", "paths": { "@/*": ["src/*"], }, },
}""",
    "src/global.d.ts": "declare const __DEV__: boolean\n",
    "src/main.ts": """import fallback, { Store, type Options as Settings, helper } from './lib'
import * as tools from '@/tools.js'
import { Circle, area } from '@acme/shapes'
import { missing } from 'nowhere'

enum Level { Low, High = 5 }

interface Handler<T> { (value: T): void; once?: boolean }

class Local<T extends Settings> extends Store<T> {
  static made = 0
  constructor(private readonly prefix: string) { super() }
  get title(): string { return this.prefix + this.label }
  async run({ depth, inner: { size: width } }: Settings): Promise<Circle> {
    for (const item of this.items) item.limit
    const [first, ...rest] = this.items
    first.limit
    return helper(depth, width)
  }
}

const local = new Local<Settings>('x')
local.items.map(entry => entry.limit)
local.each((one, place) => one.limit + place)
local.run({ depth: 1, inner: { size: 2 } }).then(circle => circle.radius)
async function later() {
  const shape = await local.run({ depth: 1, inner: { size: 2 } })
  shape.grow().radius
  const { radius } = shape
  return { radius, total: area(shape) }
}
later().then(made => made.total)
const options: Settings = { depth: Level.High, limit: 3, inner: { size: 1 } }
tools.twice(options.depth)
Local.made
if (__DEV__) missing(fallback.version)
""",
    "src/lib/index.ts": """export * from './store'
export { assist as helper } from './store'
export type { Options } from './store'
const settings = { version: 1 }
export default settings
""",
    "src/lib/store.ts": """import { Circle } from '@acme/shapes'
export interface Options { depth: number; limit?: number; inner: { size: number } }
export interface Each<T> {
  <Q extends T>(callback: (item: Q, place: number) => void): void

  (other: string): void
}
export class Store<T> {
  label = 'store'
  items: T[] = []
  each!: Each<T>
}
export function assist(depth: number, width: number): Promise<Circle> { return Promise.resolve(new Circle(depth)) }
""",
    "src/platform.d.ts": """interface Bold { strong?: boolean }
declare namespace JSX { interface IntrinsicElements { b: Bold } }
""",
    "src/handlers.ts": """import type { Options } from './lib'
type Handler = (item: Options) => void
export const make = (n: number): Handler => { return function named(item) { item.limit } }
interface Node2<T> { value: T; next?: Node2<T> }
declare function walk<T>(node: Node2<T>): Node2<T>
declare const first: Node2<Options>
walk(walk(first)).next!.value.limit
interface Loop<T> extends Loop<T> { own: T }
declare const loop: Loop<Options>
loop.own.depth
loop.other
""",
    "src/tools.ts": "export const twice = (n: number) => n * 2\n",
    "src/old.js": """const { join, Box } = require('./legacy')
const legacy = require('./legacy')
join(legacy.join)
new Box().open
""",
    "src/legacy.js": """function join(a) { return a }
class Box { constructor() { this.open = true } }
module.exports = { join, Box }
""",
    "src/view.tsx": """import { Level as _ } from './main'
interface Props { title: string; onPick(name: string): void }
function Panel(props: Props) { return <b strong={true}>{props.title}</b> }
export const page = <Panel title="a" onPick={name => name} />
""",
}
SHAPES = {
    "package.json": '{"name": "@acme/shapes", "main": "dist/index.js"}',
    "src/index.ts": """export class Circle {
  radius = 1
  constructor(radius: number) { this.radius = radius }
  grow(): this { return this }
}
export const area = (circle: Circle) => circle.radius
""",
}
STORE, MAIN = "src/lib/store.ts", "src/main.ts"
CLAIMS = [
    (MAIN, "extends §Store<T>", STORE, "class §Store", "import"),
    (MAIN, "as §Settings, helper", STORE, "interface §Options", "import"),
    (MAIN, "return §helper(", STORE, "function §assist", "import"),
    (MAIN, "this.§prefix", MAIN, "readonly §prefix", "type"),
    (MAIN, "this.§label", STORE, "  §label =", "type"),
    (MAIN, "of this.§items", STORE, "  §items:", "type"),
    (MAIN, "of this.items) item.§limit", STORE, "§limit?: number", "type"),
    (MAIN, "first.§limit", STORE, "§limit?: number", "type"),
    (MAIN, "entry.§limit", STORE, "§limit?: number", "type"),
    (MAIN, "=> one.§limit", STORE, "§limit?: number", "type"),
    (MAIN, "helper(§depth, width)", MAIN, "run({ §depth, inner", "scope"),
    (MAIN, "helper(depth, §width)", MAIN, "size: §width }", "scope"),
    (MAIN, "run({ §depth, inner: { size: width", STORE, "{ §depth: number", "type"),
    (MAIN, "{ §size: width", STORE, "{ §size: number }", "type"),
    (MAIN, "local.§run({ depth: 1, inner: { size: 2 } }).then", MAIN, "async §run(", "type"),
    (MAIN, "circle.§radius)", "src/index.ts", "  §radius = 1", "type"),
    (MAIN, "shape.grow().§radius", "src/index.ts", "  §radius = 1", "type"),
    (MAIN, "made.§total", MAIN, "§total: area", "type"),
    (MAIN, "{ §depth: Level.High", STORE, "{ §depth: number", "type"),
    (MAIN, "limit: 3, inner: { §size: 1", STORE, "{ §size: number }", "type"),
    (MAIN, "Level.§High", MAIN, "Low, §High", "type"),
    (MAIN, "§tools.twice", "src/tools.ts", "", "import"),
    (MAIN, "tools.§twice", "src/tools.ts", "const §twice", "import"),
    (MAIN, "§area(shape)", "src/index.ts", "const §area", "import"),
    (MAIN, "Local.§made", MAIN, "static §made", "type"),
    (MAIN, "fallback.§version", "src/lib/index.ts", "{ §version: 1 }", "type"),
    (MAIN, "(§__DEV__)", "src/global.d.ts", "const §__DEV__", "import"),
    ("src/old.js", "§join(legacy", "src/legacy.js", "function §join", "import"),
    ("src/old.js", "legacy.§join", "src/legacy.js", "function §join", "import"),
    ("src/old.js", "new Box().§open", "src/legacy.js", "this.§open", "type"),
    ("src/handlers.ts", "{ item.§limit", STORE, "§limit?: number", "type"),
    ("src/handlers.ts", "value.§limit", STORE, "§limit?: number", "type"),
    ("src/handlers.ts", "loop.own.§depth", STORE, "{ §depth: number", "type"),
    ("src/view.tsx", "return <§b strong", "src/platform.d.ts", "{ §b: Bold", "type"),
    ("src/view.tsx", "</§b>", "src/platform.d.ts", "{ §b: Bold", "type"),
    ("src/view.tsx", "<b §strong", "src/platform.d.ts", "{ §strong?", "type"),
    ("src/view.tsx", "<Panel §title", "src/view.tsx", "{ §title: string", "type"),
    ("src/view.tsx", "props.§title", "src/view.tsx", "{ §title: string", "type"),
    ("src/view.tsx", "<§Panel title", "src/view.tsx", "function §Panel", "scope"),
]


@pytest.fixture(scope="module")
def marked_text(tmp_path_factory: pytest.TempPathFactory) -> Marked:
    """An application and a package of another repository."""
    return Marked(tmp_path_factory.mktemp("ts"), {"app": APP, "shapes": SHAPES})


@pytest.fixture(scope="module")
def ask(marked_text: Marked) -> Callable[[str, str], list[ResolvedDefinition]]:
    """Definitions of the marked name in a file of the application."""
    return partial(marked_text.ask, "app")


@pytest.mark.parametrize(("file", "use", "path", "definition", "method"), CLAIMS, ids=[c[1].strip() for c in CLAIMS])
def test_a_name_leads_to_its_definition(
    ask: Callable[[str, str], list[ResolvedDefinition]], file: str, use: str, path: str, definition: str, method: str
) -> None:
    answer = ask(file, use)[0]
    assert answer.document.shown_path == path
    assert answer.start == (offset(answer.document.text, definition) if definition else 0)
    assert answer.rule == method


def test_an_import_that_is_nowhere_says_so(ask: Callable[[str, str], list[ResolvedDefinition]]) -> None:
    answer = ask(MAIN, ") §missing(")[0]
    assert answer.document.shown_path == MAIN
    assert "nowhere, which is in no repository here" in answer.reason


def test_an_interface_with_several_call_signatures_is_no_rubble(marked_text: Marked) -> None:
    document = marked_text.workspace.project("app").document(STORE.encode())
    assert document is not None
    model = marked_text.workspace.parsed_file(document)
    assert model is not None
    assert model.root.type == "program"
    assert marked_text.ask("app", STORE, "items: §T[]")[0].start == offset(document.text, "class Store<§T>")


def test_merged_declarations_are_the_same(marked_text: Marked) -> None:
    answer = marked_text.ask("app", STORE, "§each!: Each")[0]
    resolver = resolver_of("TypeScript")
    assert resolver is not None
    assert resolver.bindings(answer, marked_text.workspace) == [answer]


def test_a_package_is_known_by_its_manifest(marked_text: Marked) -> None:
    project = marked_text.workspace.project("shapes")
    assert TypeScriptLanguage().exports(project) == {"@acme/shapes": b""}


def test_imports_that_go_round_in_circles_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    circle = {
        "a.ts": "export { x } from './b'\nexport * from './b'\nimport { y } from './b'\ny\n",
        "b.ts": "export { x } from './a'\nexport * from './a'\n",
    }
    marked_text = Marked(tmp_path_factory.mktemp("circle"), {"r": circle})
    assert [definition.document.shown_path for definition in marked_text.ask("r", "a.ts", "\n§y\n")] == ["a.ts"]


@pytest.mark.parametrize(
    ("folder", "path", "expected"),
    [(b"a/b", b"../c", b"a/c"), (b"", b"./x", b"x"), (b"a", b"../../x", None), (b"a", b"./b//c/.", b"a/b/c")],
)
def test_relative_paths_stay_in_the_repository(folder: bytes, path: bytes, expected: bytes | None) -> None:
    assert normal(folder, path) == expected
