"""Output formats of the boards: plain files, grafana.com, Kubernetes, Terraform. Pure."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dashboards.rendering.normalise import PLUGIN_VERSION

Json = dict[str, Any]
Files = Iterator[tuple[str, str]]  # name inside the folder, text

FOLDER = "JetStream"

_PANEL_NAMES = {
    "bargauge": "Bar gauge",
    "heatmap": "Heatmap",
    "stat": "Stat",
    "state-timeline": "State timeline",
    "table": "Table",
    "text": "Text",
    "timeseries": "Time series",
}


def board_text(board: Json) -> str:
    """Sorted: the same board is always the same bytes."""
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def plain_files(boards: list[Json]) -> Files:
    for board in boards:
        yield f"{board['uid']}.json", board_text(board)


def grafana_com(boards: list[Json]) -> Files:
    """For grafana.com. There are no inputs: the data source is a variable."""
    for board in boards:
        shared: Json = {
            "__elements": {},
            "__inputs": [],
            "__requires": _requires(board),
            "id": None,
        }
        yield f"{board['uid']}.json", board_text(board | shared)
        yield f"{board['uid']}.md", _page(board)


def config_maps(boards: list[Json]) -> Files:
    for board in boards:
        yield (
            f"{board['uid']}.yaml",
            _CONFIG_MAP.format(
                name=_resource_name(board),
                folder=FOLDER,
                uid=board["uid"],
                text=textwrap.indent(board_text(board), "    "),
            ),
        )


def operator_resources(boards: list[Json]) -> Files:
    for board in boards:
        yield (
            f"{board['uid']}.yaml",
            _OPERATOR.format(
                name=_resource_name(board),
                folder=FOLDER,
                text=textwrap.indent(board_text(board), "    "),
            ),
        )


def terraform(boards: list[Json]) -> Files:
    yield "main.tf", _TERRAFORM.format(folder=FOLDER)
    for board in boards:
        yield f"boards/{board['uid']}.json", board_text(board)


FORMATS: Mapping[str, Callable[[list[Json]], Files]] = {
    "file": plain_files,
    "grafana-com": grafana_com,
    "configmap": config_maps,
    "operator": operator_resources,
    "terraform": terraform,
}


def all_panels(board: Json) -> Iterator[Json]:
    """Also those in collapsed rows; rows themselves are not panels."""
    for panel in board["panels"]:
        if panel["type"] != "row":
            yield panel
        yield from panel.get("panels", ())


def _requires(board: Json) -> list[Json]:
    kinds = sorted({panel["type"] for panel in all_panels(board)})
    grafana = {"type": "grafana", "id": "grafana", "name": "Grafana", "version": PLUGIN_VERSION}
    source = {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"}
    panels = [{"type": "panel", "id": k, "name": _PANEL_NAMES[k], "version": ""} for k in kinds]
    return [grafana, source, *panels]


def _page(board: Json) -> str:
    lines = [f"# {board['title']}", "", board["description"], "", "## Panels", ""]
    for panel in all_panels(board):
        means = panel.get("description", "").partition("\n")[0]
        lines.append(f"- **{panel['title']}**" + (f": {means}" if means else ""))
    return "\n".join(lines) + "\n"


def _resource_name(board: Json) -> str:
    """Kubernetes takes no capitals and no underscores."""
    return "streamgauge-" + str(board["uid"]).lower().replace("_", "-")


_CONFIG_MAP = """\
# For the dashboard sidecar of the Grafana chart. The legends hold double braces: inside a chart of
# your own, take this file in with .Files.Get and not as a template.
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  labels:
    grafana_dashboard: "1"
  annotations:
    grafana_folder: {folder}
data:
  {uid}.json: |
{text}"""

_OPERATOR = """\
# For the Grafana operator, version 5; the selector names the label of your Grafana resource.
apiVersion: grafana.integreatly.org/v1beta1
kind: GrafanaDashboard
metadata:
  name: {name}
spec:
  instanceSelector:
    matchLabels:
      dashboards: grafana
  folder: {folder}
  json: |
{text}"""

_TERRAFORM = """\
terraform {{
  required_providers {{
    grafana = {{
      source = "grafana/grafana"
    }}
  }}
}}

resource "grafana_folder" "jetstream" {{
  title = "{folder}"
}}

resource "grafana_dashboard" "jetstream" {{
  for_each    = fileset("${{path.module}}/boards", "*.json")
  folder      = grafana_folder.jetstream.uid
  config_json = file("${{path.module}}/boards/${{each.value}}")
}}
"""
