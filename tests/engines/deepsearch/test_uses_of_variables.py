"""Uses of the variables of data files, such as those of Ansible: a key sets one, and a value or a template names it."""

from __future__ import annotations

from pathlib import Path

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.testing import RepositoryBuilder

FILES = {
    "roles/gate/defaults/main.yml": "gate_width_mm: 20\ngate_width_mm_more: 1\n# gate_width_mm is wide\n",
    "roles/gate/tasks/main.yml": (
        "- name: open it\n  shell: open {{ gate_width_mm }}\n- when: gate_width_mm > 3\n  debug:\n"
    ),
    "roles/gate/meta/argument_specs.yml": "options:\n  gate_width_mm:\n    type: int\n",
    "roles/gate/README.md": "Set `gate_width_mm`.\n",
}


def test_a_variable_is_used_where_it_is_no_key(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "mill").commit(FILES, "Start")
    engine = open_engine([tmp_path], index=tmp_path / "index", workers=1)
    text = research(engine, "Where is gate_width_mm used?").text
    engine.close()
    assert text.startswith("`gate_width_mm` is referenced by name in line 2 and line 3 of `roles/gate/tasks/main.yml`;")
