"""Named templates of charts: the lines that include them, and that no line does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import engine_for, lead_of

_HELPERS = """{{/*
Labels of all parts: {{ include "mill.labels" . }}
*/}}
{{- define "mill.labels" -}}
app: mill
{{- end }}
{{- define "mill.unused" -}}
{{ include "mill.labels" . }}
{{- end }}
{{- define "mill.port" -}}
{{ .Values.mill.port }}
{{- end }}
"""
_DEPLOYMENT = """kind: Deployment
metadata:
  labels: {{- include "mill.labels" . | nindent 4 }}
  checksum: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}
  port: {{ template "mill.port" . }}
"""


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        (
            "Which templates include mill.labels?",
            (
                "`mill.labels` is included by name in line 8 of `chart/templates/_helpers.tpl` and line 3 of "
                "`chart/templates/deployment.yaml`; other lines have the name"
            ),
        ),
        (
            "where is the mill.port helper used?",
            "`mill.port` is included by name in line 5 of `chart/templates/deployment.yaml`; other lines have the name",
        ),
        (
            "Is the mill.unused template used anywhere?",
            (
                "No searched line has `mill.unused` except its definition in `chart/templates/_helpers.tpl`: nothing "
                "there includes it by name"
            ),
        ),
    ],
)
def test_includes_are_listed_without_comments(tmp_path: Path, question: str, lead: str) -> None:
    files: dict[str | bytes, str | bytes | None] = {
        "chart/templates/_helpers.tpl": _HELPERS,
        "chart/templates/deployment.yaml": _DEPLOYMENT,
        "chart/Chart.yaml": "name: mill\nversion: 1.0.0\n",
    }
    assert lead_of(engine_for(tmp_path, files), question).startswith(lead)


def test_a_name_made_at_run_time_may_be_any(tmp_path: Path) -> None:
    files: dict[str | bytes, str | bytes | None] = {
        "chart/templates/_helpers.tpl": _HELPERS,
        "chart/templates/all.yaml": '{{ include (printf "%s.unused" .Chart.Name) . }}\n',
    }
    lead = lead_of(engine_for(tmp_path, files), "Is the mill.unused template used anywhere?")
    assert "Most relevant" in lead


def test_comments_without_an_end_are_read_in_linear_time(tmp_path: Path) -> None:
    """Nor is a file read again for each line that includes a template."""
    files: dict[str | bytes, str | bytes | None] = {
        "chart/templates/_helpers.tpl": _HELPERS,
        "chart/templates/open.yaml": '{{ include "mill.port" . }}\n' * 2_000 + "x: {{/* y\n" * 40_000,
    }
    engine = engine_for(tmp_path, files)
    start_s = time.process_time()
    lead = lead_of(engine, "where is the mill.port helper used?")
    assert time.process_time() - start_s < 10
    assert lead.startswith("`mill.port` is included by name in line 1, line 2, line 3 and line 4 of")
