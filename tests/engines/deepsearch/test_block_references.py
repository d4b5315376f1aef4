"""References to blocks of Terraform, which have the address of a block, and definitions, which have its name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

MAIN = """locals {
  wheel_name = var.stone_count > 2 ? "wide" : "small"
  all = {
    inner_name = 1
  }
}

module "sluice" {
  source = "./modules/sluice"
  count  = !var.is_dry ? 1 : 0
  labels = ["${local.wheel_name}-a"]
  title  = "var.is_dry"
}

data "mill_stone" "wide" {
  names = [
    var.stone_count,
  ]
}

resource "mill_wheel" "wheel" {
  stone = data.mill_stone.wide.id # local.wheel_name
  water = module.sluice[0].level
}

output "turned" {
  value = mill_wheel.wheel.turned
}
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("blocks")
    repo = RepositoryBuilder(root / "mill")
    repo.commit({
        "main.tf": MAIN,
        "variables.tf": 'variable "stone_count" {\n  default = 2\n}\n\nvariable "is_dry" {\n}\n',
        "README.md": "Set `var.stone_count` to 2.\n",
    })  # fmt: skip
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "Where is var.stone_count used?",
            "`var.stone_count` is referenced by name in line 2 and line 17 of `main.tf`",
        ),
        (
            "What uses the stone_count variable?",
            "`var.stone_count` is referenced by name in line 2 and line 17 of `main.tf`",
        ),
        ("Where is var.is_dry referenced?", "`var.is_dry` is referenced by name in line 10 of `main.tf`"),
        ("What uses local.wheel_name?", "`local.wheel_name` is referenced by name in line 11 of `main.tf`"),
        ("Where is module.sluice used?", "`module.sluice` is referenced by name in line 23 of `main.tf`"),
        ("What uses data.mill_stone.wide?", "`data.mill_stone.wide` is referenced by name in line 22 of `main.tf`"),
        ("Where is mill_wheel.wheel used?", "`mill_wheel.wheel` is referenced by name in line 27 of `main.tf`"),
        ("Where is local.wheel_name defined?", "`local.wheel_name` is defined in `main.tf`, line 2"),
        ("Where is var.is_dry defined?", "`var.is_dry` is defined in `variables.tf`, line 5"),
        ("Where is module.sluice defined?", "`module.sluice` is defined in `main.tf`, line 8"),
        ("Where is data.mill_stone.wide defined?", "`data.mill_stone.wide` is defined in `main.tf`, line 15"),
    ],
)
def test_a_block_is_used_by_its_address(mill: LocalEngine, question: str, sentence: str) -> None:
    assert lead_of(mill, question).startswith(sentence)


def test_a_value_of_a_map_is_no_local_value(mill: LocalEngine) -> None:
    assert "is defined in" not in lead_of(mill, "Where is local.inner_name defined?")
    assert "line 1" not in lead_of(mill, "Where is local.stone_count used?")
