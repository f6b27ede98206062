"""The queries: every rule, and every query of every board as Grafana sends it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from alerts.quantity import parse_duration
from alerts.rendering.rule_files import rule_files
from bench.process import ROOT
from bench.rules.population import SHOWN_CONSUMER, SHOWN_STREAM

_VARIABLE = re.compile(r"\$\{?([a-z_]+)\}?")
_NAME = re.compile(r"streamgauge[a-z0-9_:]+")
_CHOSEN = {"stream": SHOWN_STREAM, "consumer": SHOWN_CONSUMER}
_SCRAPE_SECONDS = 15.0
# A panel of 900 points over the hours that are shown.
_POINTS = 900


class BenchQuery(NamedTuple):
    name: str
    text: str
    step: float | None = None  # None: at one time


def rule_queries() -> list[BenchQuery]:
    found = []
    for text in rule_files().values():
        for group in yaml.safe_load(text)["groups"]:
            for rule in group["rules"]:
                name = rule.get("alert") or rule["record"]
                found.append(BenchQuery(name, f"count({rule['expr']})"))
    return found


def board_queries(hours: float) -> dict[str, list[BenchQuery]]:
    """By board. Variables have their default: All, or one stream and one consumer."""
    found = {}
    for path in sorted((ROOT / "dashboards/generated").glob("*.json")):
        board = json.loads(path.read_text(encoding="utf-8"))
        found[board["title"].rpartition(" / ")[2]] = [*_of_board(board, hours)]
    return found


def names_in(queries: list[BenchQuery]) -> frozenset[str]:
    return frozenset(name for each in queries for name in _NAME.findall(each.text))


def _of_board(board: dict[str, Any], hours: float) -> Iterator[BenchQuery]:
    variables = board["templating"]["list"]
    values = _CHOSEN | {each["name"]: ".+" for each in variables if each.get("includeAll")}
    for panel in _panels(board["panels"]):
        step = max(parse_duration(panel.get("interval") or "15s"), hours * 3600 / _POINTS)
        for target in panel.get("targets", ()):
            text = _filled(target["expr"], values, step, hours)
            yield BenchQuery(panel["title"], text, None if target.get("instant") else step)
    for each in board["annotations"]["list"]:
        if each.get("expr") and each["enable"]:
            yield BenchQuery(each["name"], _filled(each["expr"], values, 60.0, hours), 60.0)


def _panels(panels: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        yield panel
        yield from _panels(panel.get("panels", []))


def _filled(text: str, values: dict[str, str], step: float, hours: float) -> str:
    window = max(step + _SCRAPE_SECONDS, 4 * _SCRAPE_SECONDS)
    times = {
        "__rate_interval": f"{window:.0f}s",
        "__range": f"{hours * 3600:.0f}s",
        "__interval": f"{step:.0f}s",
    }
    return _VARIABLE.sub(lambda found: (values | times)[found[1]], text)
