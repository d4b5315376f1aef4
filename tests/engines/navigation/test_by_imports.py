"""Names of Java, C, C++, Rust and C# files lead to their definitions; § marks the name in each line."""

from __future__ import annotations

import pytest

from engines.navigation.marked import Marked, offset
from sourcelight.engines.navigation.languages import resolver_of

JAVA = {
    "app/src/main/java/com/example/app/Main.java": """package com.example.app;

import com.example.store.Item;
import com.example.store.Store;
import static com.example.store.Sizes.round;
import com.example.store.kinds.*;

public class Main extends Base {
    private final Store store = new Store();
    private int count;

    enum Level { LOW, HIGH; Level next() { return HIGH; } }

    int run(String name, int count) {
        Item item = store.load(name);
        this.count = count + round(item.size());
        for (Item each : store.all()) {
            each.rename("a", "b");
        }
        var made = store.load(name);
        made.rename("c");
        try {
            helper(made.size());
        } catch (RuntimeException failure) {
            throw failure;
        }
        Runnable later = () -> { int count = 1; use(count); };
        Kind kind = Kind.FIRST;
        Level level = Level.LOW.next();
        return inherited(name) + count;
    }

    int inherited(int other) { return 0; }
    void use(int value) {}
}
""",
    "app/src/main/java/com/example/app/Base.java": """package com.example.app;

class Base {
    protected int inherited(String name) { return helper(1); }
    int helper(int size) { return size; }
}
""",
}
JAVA_LIBRARY = {
    "src/com/example/store/Store.java": """package com.example.store;

import java.util.List;

public class Store {
    public Item load(String name) { return new Item(name); }
    public List<Item> all() { return List.of(); }
}
""",
    "src/com/example/store/Item.java": """package com.example.store;

public class Item {
    private final String name;
    public Item(String name) { this.name = name; }
    public int size() { return name.length(); }
    public void rename(String one) {}
    public void rename(String one, String other) {}
}
""",
    "src/com/example/store/Sizes.java": """package com.example.store;

public final class Sizes {
    public static int round(int size) { return size; }
}
""",
    "src/com/example/store/kinds/Kind.java": "package com.example.store.kinds;\n\npublic enum Kind { FIRST }\n",
}
C = {
    "src/main.c": """#include <stdio.h>
#include "list.h"
#include <ring/ring.h>

static int limit = LIMIT;

int main(int argc, char **argv) {
    node_t *first = list_make(argc);
    struct ring held = { .size = limit };
    for (int limit = 0; limit < 3; limit++)
        first->next->value = limit;
    ring_put(&held, first->value);
    if (argc) goto out;
out:
    return held.size;
}
""",
    "src/list.h": """#include "types.h"
#define LIMIT 10
node_t *list_make(int value);
""",
    "src/types.h": """typedef struct node {
    int value;
    struct node *next;
} node_t;
""",
    "src/list.c": """#include "list.h"

static int limit;

node_t *list_make(int value) {
    limit = value;
    return 0;
}
""",
    "src/shape.cpp": """#include "shape.hpp"

int shapes::Square::area(int scale) {
    Square other;
    return side * scale + other.side + this->twice();
}
""",
    "src/shape.hpp": """namespace shapes {
class Shape {
  public:
    int twice() { return 2; }
};
class Square : public Shape {
  public:
    int area(int scale);
    int side;
};
}
""",
}
C_LIBRARY = {
    "include/ring/ring.h": "struct ring { int size; };\nvoid ring_put(struct ring *held, int value);\n",
    "ring.c": '#include "ring/ring.h"\n\nvoid ring_put(struct ring *held, int value) { held->size = value; }\n',
}
RUST = {
    "Cargo.toml": '[package]\nname = "app"\n\n[dependencies]\nring-list = "1"\n',
    "tools/Cargo.toml": "# without a section yet\n",
    "src/main.rs": """mod store;

use crate::store::{self, Item as Thing, Store};
use ring_list::Ring;

fn main() {
    let ring = Ring::new(3);
    let store = Store { ring, items: vec![] };
    let found = store.load("a").unwrap();
    found.rename(&store);
    let found = found.size;
    store::helper(found, Kind::Second { size: 1 });
    match store.first() {
        Some(item) => item.rename(&store),
        None => {}
    }
    println!("{}", store.ring.len());
    let thing: &Thing = store.boxed();
    thing.rename(&store);
}

enum Kind {
    First,
    Second { size: u8 },
}
""",
    "src/store.rs": """use ring_list::Ring;

pub struct Store {
    pub ring: Ring,
    pub items: Vec<Item>,
}

pub struct Item {
    pub size: usize,
}

impl Store {
    pub fn load(&self, name: &str) -> Option<Item> {
        self.items.first();
        Self::checked(name)
    }
    fn checked(name: &str) -> Option<Item> { None }
    pub fn first(&self) -> Option<&Item> { None }
    pub fn boxed(&self) -> Box<Item> { todo!() }
}

impl Item {
    pub fn rename(&self, store: &Store) {}
}

pub fn helper<T>(size: usize, kind: T) {}
""",
}
RUST_LIBRARY = {
    "Cargo.toml": '[package]\nname = "ring-list"\n',
    "src/lib.rs": "mod inner;\npub use inner::Ring;\n",
    "src/inner.rs": """pub struct Ring(usize);

impl Ring {
    pub fn new(size: usize) -> Self { Ring(size) }
    pub fn len(&self) -> usize { self.0 }
}
""",
}
C_SHARP = {
    "App/Main.cs": """using Example.Store;

namespace Example.App
{
    class Main : Base
    {
        private readonly Shop shop = new Shop();

        int Run(string name)
        {
            var item = shop.Load(name);
            item.Rename(name);
            foreach (Item each in shop.All()) { each.Rename(each.Title); }
            return Inherited(item.Title) + this.shop.Count;
        }
    }
}
""",
    "App/Base.cs": """namespace Example.App;

class Base
{
    protected int Inherited(string name) => 0;
}
""",
    "Store/Shop.cs": """namespace Example.Store;

public class Shop
{
    public int Count { get; set; }
    public Item Load(string name) { return new Item(); }
    public List<Item> All() { return null; }
}

public class Item
{
    public string Title;
    public void Rename(string name) { Title = name; }
}
""",
}
_MAIN = "app/src/main/java/com/example/app/Main.java"
_STORE = "src/com/example/store/"
CLAIMS = [
    ("java", _MAIN, "= §count + round", _MAIN, "name, int §count)", "scope"),
    ("java", _MAIN, "this.§count", _MAIN, "private int §count", "type"),
    ("java", _MAIN, "use(§count)", _MAIN, "{ int §count = 1", "scope"),
    ("java", _MAIN, "throw §failure", _MAIN, "RuntimeException §failure", "scope"),
    ("java", _MAIN, "§Item item", _STORE + "Item.java", "class §Item", "import"),
    ("java", _MAIN, "import com.example.store.§Item", _STORE + "Item.java", "class §Item", "import"),
    ("java", _MAIN, "store.§load(name);\n        this", _STORE + "Store.java", "Item §load", "type"),
    ("java", _MAIN, "+ §round(", _STORE + "Sizes.java", "int §round", "import"),
    ("java", _MAIN, "item.§size()", _STORE + "Item.java", "int §size", "type"),
    ("java", _MAIN, "each.§rename", _STORE + "Item.java", "void §rename(String one, String", "type"),
    ("java", _MAIN, "made.§rename", _STORE + "Item.java", "void §rename(String one) ", "type"),
    ("java", _MAIN, "Kind.§FIRST", _STORE + "kinds/Kind.java", "{ §FIRST", "type"),
    ("java", _MAIN, "§Kind kind", _STORE + "kinds/Kind.java", "enum §Kind", "import"),
    ("java", _MAIN, "LOW.§next", _MAIN, "Level §next", "type"),
    ("java", _MAIN, "§helper(made", _MAIN.replace("Main.", "Base."), "int §helper", "scope"),
    ("java", _MAIN, "extends §Base", _MAIN.replace("Main.", "Base."), "class §Base", "scope"),
    ("c", "src/main.c", "= §LIMIT", "src/list.h", "#define §LIMIT", "import"),
    ("c", "src/main.c", "§node_t *first", "src/types.h", "} §node_t", "import"),
    ("c", "src/main.c", "= §list_make", "src/list.c", "*§list_make", "import"),
    ("c", "src/main.c", "value = §limit", "src/main.c", "for (int §limit", "scope"),
    ("c", "src/main.c", ".size = §limit", "src/main.c", "static int §limit", "scope"),
    ("c", "src/main.c", "first->§next", "src/types.h", "*§next", "type"),
    ("c", "src/main.c", "next->§value", "src/types.h", "int §value", "type"),
    ("c", "src/main.c", ".§size = ", "include/ring/ring.h", "int §size", "type"),
    ("c", "src/main.c", "held.§size", "include/ring/ring.h", "int §size", "type"),
    ("c", "src/main.c", "§ring_put", "ring.c", "void §ring_put", "import"),
    ("c", "src/main.c", "goto §out", "src/main.c", "§out:", "scope"),
    ("c", "src/list.c", "§limit = value", "src/list.c", "static int §limit", "scope"),
    ("c", "src/shape.cpp", "return §side", "src/shape.hpp", "int §side", "type"),
    ("c", "src/shape.cpp", "other.§side", "src/shape.hpp", "int §side", "type"),
    ("c", "src/shape.cpp", "this->§twice", "src/shape.hpp", "int §twice", "type"),
    ("rust", "src/main.rs", "= §Ring::new", "src/inner.rs", "struct §Ring", "import"),
    ("rust", "src/main.rs", "Ring::§new", "src/inner.rs", "fn §new", "import"),
    ("rust", "src/main.rs", "store.§load", "src/store.rs", "fn §load", "type"),
    ("rust", "src/main.rs", "found.§rename", "src/store.rs", "fn §rename", "type"),
    ("rust", "src/main.rs", "let found = §found", "src/main.rs", "let §found = store", "scope"),
    ("rust", "src/main.rs", "helper(§found", "src/main.rs", "let §found = found", "scope"),
    ("rust", "src/main.rs", "store::§helper", "src/store.rs", "fn §helper", "import"),
    ("rust", "src/main.rs", "{ ring, §items", "src/store.rs", "pub §items", "type"),
    ("rust", "src/main.rs", "Kind::§Second", "src/main.rs", "    §Second {", "import"),
    ("rust", "src/main.rs", "{ §size: 1", "src/main.rs", "{ §size: u8", "type"),
    ("rust", "src/main.rs", "=> item.§rename", "src/store.rs", "fn §rename", "type"),
    ("rust", "src/main.rs", "&§Thing", "src/store.rs", "struct §Item", "import"),
    ("rust", "src/main.rs", "thing.§rename", "src/store.rs", "fn §rename", "type"),
    ("rust", "src/store.rs", "Self::§checked", "src/store.rs", "fn §checked", "import"),
    ("rust", "src/store.rs", "self.§items", "src/store.rs", "pub §items", "type"),
    ("c-sharp", "App/Main.cs", "§Shop shop", "Store/Shop.cs", "class §Shop", "import"),
    ("c-sharp", "App/Main.cs", "shop.§Load", "Store/Shop.cs", "Item §Load", "type"),
    ("c-sharp", "App/Main.cs", "item.§Rename", "Store/Shop.cs", "void §Rename", "type"),
    ("c-sharp", "App/Main.cs", "each.§Title", "Store/Shop.cs", "string §Title", "type"),
    ("c-sharp", "App/Main.cs", "§Inherited(", "App/Base.cs", "int §Inherited", "scope"),
    ("c-sharp", "App/Main.cs", "this.shop.§Count", "Store/Shop.cs", "int §Count", "type"),
]


@pytest.fixture(scope="module")
def marked_text(tmp_path_factory: pytest.TempPathFactory) -> Marked:
    """Repositories of each language, with libraries beside them."""
    sources = {
        "java": JAVA, "java-library": JAVA_LIBRARY, "c": C, "c-library": C_LIBRARY, "rust": RUST,
        "rust-library": RUST_LIBRARY, "c-sharp": C_SHARP,
    }  # fmt: skip
    return Marked(tmp_path_factory.mktemp("by_imports"), sources)


@pytest.mark.parametrize(
    ("repository", "path", "use", "target", "definition", "method"),
    CLAIMS,
    ids=[f"{c[0]} {c[2].strip()}" for c in CLAIMS],
)
def test_a_name_leads_to_its_definition(
    marked_text: Marked, repository: str, path: str, use: str, target: str, definition: str, method: str
) -> None:
    answer = marked_text.ask(repository, path, use)[0]
    assert answer.document.shown_path == target
    assert answer.start == offset(answer.document.text, definition)
    assert answer.rule == method


def test_a_module_leads_to_its_file(marked_text: Marked) -> None:
    answer = marked_text.ask("rust", "src/main.rs", "use crate::§store::{self")[0]
    assert (answer.document.shown_path, answer.kind) == ("src/store.rs", "module")


def test_a_function_is_the_same_where_it_is_announced(marked_text: Marked) -> None:
    answer = marked_text.ask("c", "src/main.c", "= §list_make")[0]
    resolver = resolver_of("C")
    assert resolver is not None
    locations = {binding.document.shown_path for binding in resolver.bindings(answer, marked_text.workspace)}
    assert locations == {"src/list.c", "src/list.h"}


def test_what_is_in_no_repository_has_no_definition(marked_text: Marked) -> None:
    assert marked_text.ask("java-library", _STORE + "Store.java", "§List<Item>") == []


@pytest.mark.parametrize(
    ("repository", "path", "module", "member", "target"),
    [
        ("java", _MAIN, "com.example.store", "Item", _STORE + "Item.java"),
        ("java", _MAIN, "com.example.store.kinds", "*", _STORE + "kinds/Kind.java"),
        ("c", "src/main.c", "<ring/ring.h>", "", "include/ring/ring.h"),
        ("c", "src/main.c", "list.h", "", "src/list.h"),
        ("c", "src/main.c", "<stdio.h>", "", None),
        ("rust", "src/main.rs", "self", "store", "src/store.rs"),
        ("rust", "src/main.rs", "ring_list", "Ring", "src/inner.rs"),
        ("c-sharp", "App/Main.cs", "Example.Store", "", "Store/Shop.cs"),
    ],
)
def test_an_import_leads_to_its_file(
    marked_text: Marked, repository: str, path: str, module: str, member: str, target: str | None
) -> None:
    document = marked_text.workspace.project(repository).document(path.encode())
    assert document is not None
    resolver = resolver_of(document.language)
    assert resolver is not None
    result = resolver.import_target(document, module, member, marked_text.workspace)
    assert (result.shown_path if result is not None else None) == target
