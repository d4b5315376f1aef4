"""Counts and places of what languages declare with words of their own: messages, variables of Terraform, targets."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.facts.declared.forms import DECLARED_FORMS, noun_of
from sourcelight.engines.deepsearch.facts.unparsed_definitions import reader_of
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

PROTO = """syntax = "proto3";

// message Old {}
/*
message Older {}
*/
message Barge {
  string name = 1;
  message Cargo { int32 weight = 1; }
  enum Load {
    LOAD_EMPTY = 0;
  }
}

service Towing {
  rpc PullBarge(Barge) returns (Barge);
  rpc StopBarge(Barge) returns (Barge) {}
}
"""
TERRAFORM = """variable "lock_depth" {
  description = "variable \\"x\\" {"
  default     = 3
}
# variable "old" {
variable "lock_name" {}

data "aws_ami" "lock_image" {
}
output "lock_id" { value = 1 }
"""
MAKEFILE = """DEPTH ?= 4
OPEN := yes
.PHONY: fill drain
fill: drain
\techo fill
drain:
\techo a: b
drain: LEVEL = 2
# dry: fill
"""
SQL = """-- create table old (id int);
CREATE TABLE IF NOT EXISTS lock_keeper (id int);
create or replace view open_lock as select 1;
create function fill_lock(depth int) returns int as $$ select 1 $$ language sql;
CREATE FUNCTION fill_lock(depth int, name text) returns int as $$ select 1 $$ language sql;
"""
CSS = """:root { --lock-color: #351c75; }
@keyframes lockOpen { from { top: 0 } }
/* @keyframes lockShut {} */
.lock__gate:hover,
.lock__gate {
  color: red;
}
"""
CMAKE = """option(LOCK_TESTS "build tests" OFF)
function(lock_add name)
  lock_find(${name})
endfunction()
macro(lock_find name)
endmacro()
# function(lock_old)
FetchContent_Declare(
  gatelib
  URL https://example.org/gatelib/archive/refs/tags/v2.4.1.tar.gz
)
FetchContent_Declare(bare SOURCE_DIR ${X})
FetchContent_Declare(pumplib GIT_REPOSITORY https://example.org/pump GIT_TAG 9f1)
"""
D = """module canal;

enum int maxLocks = 12;
enum LockState { open, shut }

final class LockKeeper : Keeper
{
    override void fillLock(int depth)
    {
        raiseGate(depth);
    }
}

@safe unittest
{
    // unittest
}
unittest // of gates
{
    raiseGate(3);
}

/* int oldGate(int x)
{ } */
auto raiseGate(T)(T depth)
{
    return depth + lowerGate(1);
}
int lowerGate(int depth);
"""
SCALA = """sealed trait Gate
case class Raised(height: Int) extends Gate
final case class Lowered(depth: Int) extends Gate
case object Stuck extends Gate
class Plain
// case class Old(x: Int)
"""
SWIFT = """public protocol GateDelegate: AnyObject {
}
extension Gate: GateDelegate {}
final class Gate {
    class func make() -> Gate { Gate() }
}
"""
MODULE = """terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.28"
    }
  }
}
module "keys" {
  source  = "terraform-aws-modules/kms/aws"
  version = "4.0.0"
}
"""
LWT = """let suite = suite "gates" [
  test "opens" begin fun () -> true end;
  test_direct "shuts" begin fun () -> true end;
]
let test name = name
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Files of languages with nouns of their own."""
    folder = tmp_path_factory.mktemp("declared")
    repository = RepositoryBuilder(folder / "canal.cmake")
    repository.commit(
        {
            "proto/barge.proto": PROTO,
            "infra/main.tf": TERRAFORM,
            "infra/versions.tf": MODULE,
            "Makefile": MAKEFILE,
            "db/locks.sql": SQL,
            "web/locks.css": CSS,
            "cmake/canal.cmake": CMAKE,
            "CMakeLists.txt": CMAKE,
            "source/canal.d": D,
            "src/Gates.scala": SCALA,
            "Sources/Gates.swift": SWIFT,
            "test/gates.ml": LWT,
        },
        "Add a canal",
    )
    return open_engine([repository.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How many messages are in barge.proto?", "**2** messages are defined in `**/barge.proto`: lines that begin"),
        ("How many rpcs does the Towing service have in barge.proto?", "can't be counted exactly"),
        ("How many rpc methods are defined in barge.proto?", "**2** rpcs are defined"),
        ("How many services are there?", "**1** service is defined: lines that begin with service"),
        ("How many enums does barge.proto define?", "**1** enum is defined"),
        ("How many variables does infra/ define?", "**2** variables are defined in `infra/`"),
        ("How many outputs are in infra/main.tf?", "**1** output is defined"),
        ("How many data sources are in infra/main.tf?", "**1** data source is defined"),
        # A target with two lines is one, and neither a variable of a target nor a command is another.
        ("How many targets does the Makefile have?", "**2** targets are defined in `Makefile`"),
        ("How many tables are created in db/locks.sql?", "**1** table is defined"),
        ("How many functions are in db/locks.sql?", "**2** functions are defined in `db/locks.sql`"),
        ("How many keyframes are in locks.css?", "**1** keyframe is defined"),
        # The file has the name of the repository, too.
        ("How many functions does canal.cmake define?", "**1** function is defined in `**/canal.cmake`"),
        ("How many options are in CMakeLists.txt?", "**1** option is defined"),
        ("How many case classes are in Gates.scala?", "**2** case classes are defined"),
        ("How many traits are in Gates.scala?", "**1** trait is defined"),
        ("How many protocols are in Gates.swift?", "**1** protocol is defined"),
        ("How many classes are in Gates.swift?", "**1** class is defined"),
        ("How many unittest blocks are in canal.d?", "**2** tests are defined in `**/canal.d`: unittest blocks"),
        ("How many functions are in canal.d?", "**2** functions are defined in `**/canal.d`"),
        ("How many tests are in gates.ml?", "**2** tests are defined"),
        ("Where is the message Barge defined?", "`Barge` is defined in `proto/barge.proto`, line 7, as a message"),
        ("Where is the PullBarge rpc defined?", "`PullBarge` is defined in `proto/barge.proto`, line 16"),
        ("What is LOAD_EMPTY?", "`LOAD_EMPTY` is set to `0`"),
        ("Where is the data source lock_image defined?", "`lock_image` is defined in `infra/main.tf`, line 8"),
        ("Where is lock_keeper defined?", "`lock_keeper` is defined in `db/locks.sql`, line 2, as a table"),
        ("Where is fill_lock defined?", "line 4, as a function; its file has more definitions of the name"),
        ("Where is lockOpen defined?", "`lockOpen` is defined in `web/locks.css`, line 2"),
        ("What is maxLocks?", "`maxLocks` is set to `12`, in `source/canal.d`, line 3"),
        ("Where is LockKeeper defined?", "`LockKeeper` is defined in `source/canal.d`, line 6, as a class"),
        ("Where is fillLock defined?", "`fillLock` is defined in `source/canal.d`, line 8"),
        ("What calls raiseGate?", "in `fillLock` (line 10 of `source/canal.d`)"),
        ("Where is the GateDelegate protocol declared?", "`Sources/Gates.swift`, line 1, as a protocol"),
        ("Which version of gatelib is used?", "lists `gatelib` `v2.4.1` (fetchcontent_declare)"),
        ("Which version of pumplib is used?", "lists `pumplib` `9f1` (fetchcontent_declare)"),
        (
            "Which version of the aws provider is used?",
            "`infra/versions.tf` lists `hashicorp/aws` `>= 6.28` (provider)",
        ),
        # How a package is found says nothing of what it is for.
        ("Which version of gatelib do the tests use?", "lists `gatelib` `v2.4.1` (fetchcontent_declare) ["),
        ("Which version of the kms module is used?", "`terraform-aws-modules/kms/aws` `4.0.0` (module)"),
    ],
)
def test_the_words_of_a_language_are_read(engine: LocalEngine, question: str, sentence: str) -> None:
    assert sentence in lead_of(engine, question)


@pytest.mark.parametrize(
    "question",
    [
        "Where is oldGate defined?",
        "Where is lowerGate defined?",
        "Where is the message Older defined?",
        "Where is lockShut defined?",
    ],
)
def test_what_a_comment_or_a_prototype_has_is_not_defined_there(engine: LocalEngine, question: str) -> None:
    assert "is defined in" not in lead_of(engine, question)


def test_a_block_is_no_type(engine: LocalEngine) -> None:
    assert "as a" not in lead_of(engine, "Where is lock_image defined?")
    assert "as a" not in lead_of(engine, "Where is fill defined?")


def test_a_noun_without_a_form_is_not_counted(engine: LocalEngine) -> None:
    assert "can't be counted" in lead_of(engine, "How many actors are in barge.proto?")
    assert "**" not in lead_of(engine, "How many messages are waiting in the queue?")


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("D", "    return name(a) {"),
        ("D", "    int name(int a);"),
        ("D", "    auto x = name(a);"),
        ("Protocol Buffer", "  name other = 3;"),
        ("Protocol Buffer", "  string name = 3;"),
        ("SQL", "select name(1)"),
        ("SQL", "drop table name;"),
        ("SQL", "create table names (id int);"),
        ("CSS", "  color: name;"),
        ("CSS", ".names {"),
        ("CSS", ".name {"),
        ("Makefile", "\tname: b"),
        ("Makefile", "names: b"),
        ("Dockerfile", "RUN name=3"),
    ],
)
def test_a_line_that_only_uses_a_name_defines_nothing(language: str, line: str) -> None:
    define = reader_of(language, "name")
    assert define is not None
    assert define(line) is None


def test_a_plain_noun_of_a_project_in_other_languages_is_not_counted(tmp_path: Path) -> None:
    repository = RepositoryBuilder(tmp_path / "pump")
    files: dict[str | bytes, str | bytes | None] = {f"src/pump{number}.go": "package pump\n" for number in range(9)}
    repository.commit({**files, "api/pump.proto": PROTO, "CMakeLists.txt": CMAKE}, "Add pumps")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    assert "**" not in lead_of(engine, "How many services does pump have?")
    assert "**" not in lead_of(engine, "How many options does pump have?")
    assert "**1** service" in lead_of(engine, "How many services are in pump.proto?")


def test_a_part_of_a_name_is_no_noun_beside_it(engine: LocalEngine) -> None:
    assert "A line with" not in lead_of(engine, "Who changed the type of fill_lock?")


def test_a_line_with_one_word_of_a_package_does_not_set_its_version(tmp_path: Path) -> None:
    """Lines about another package, and a license, are no settings of the one that is asked for."""
    repository = RepositoryBuilder(tmp_path / "weir")
    files: dict[str | bytes, str | bytes | None] = {
        "pom.xml": (
            "<project>\n  <!--\n  ~ Licensed under the Apache License, Version 2.0 (the License);\n  -->\n"
            "  <properties>\n    <ignite.version>2.16.0</ignite.version>\n  </properties>\n</project>\n"
        ),
        "project/build.properties": "sbt.version=1.12.12\n",
        "project/plugins.sbt": 'addSbtPlugin("com.example" % "sbt-gate-view" % "3.1.0")\n',
    }
    repository.commit(files, "Add a build")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    for question in ("Which version of Apache Ignite is used?", "Which version of sbt-gate-view does the build use?"):
        answer = research(engine, question).text
        lines = [line for line in answer.split("\n") if "Licensed" in line or "sbt.version=" in line]
        assert not any("sets it" in line for line in lines)


def test_each_noun_has_a_key() -> None:
    assert noun_of("Case classes") == "case class"
    assert noun_of("typeclasses") == "type class"
    assert noun_of("rpc methods") == "rpc"
    assert noun_of("indices") == "index"
    assert noun_of("build stages") == "stage"


def test_forms_read_hostile_lines_in_time() -> None:
    starts = ["public ", "@a ", " ", "a ", "a/", "create or replace ", "a!(", "a[]", "const ", "private[a] "]
    lines = [(start * 5_000)[:20_000] for start in starts]
    began = time.process_time()
    for forms in DECLARED_FORMS.values():
        for form in forms.values():
            for line in lines:
                re.match(form.search, line)
                assert form.name is None or form.name.match(line) is None or line

    assert time.process_time() - began < 2
