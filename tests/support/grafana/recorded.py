"""What Grafana's own npm packages say, as recorded: schemas, registries, a table it merged itself."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from dashboards.panels.model import Column, Guide, Table
from dashboards.queries import Scope
from exporter import catalog

FOLDER: Final = Path(__file__).parents[2] / "recorded/grafana"


_Q: Final = Scope(("system",))
# What Grafana's own code was given to merge: labels of an info, and two numbers.
SAMPLE_TABLE: Final = Table(
    title="Streams",
    guide=Guide("", "", ""),
    identity=catalog.STREAM,
    shown_labels=("leader",),
    columns=(
        Column("", _Q.info(catalog.STREAM_INFO, "leader")),
        Column("Messages", _Q.now(catalog.STREAM_MESSAGES)),
        Column("Size", _Q.now(catalog.STREAM_BYTES)),
    ),
    sort_by="Size",
)


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.json"


@cache
def recorded(name: str) -> Any:
    return json.loads(path_of(name).read_text(encoding="utf-8"))


def registry() -> dict[str, list[str]]:
    """Ids of units, reducers, transformations, matchers and colour modes."""
    found: dict[str, list[str]] = recorded("registries")
    return found


def schema(name: str) -> dict[str, Any]:
    """A JSON Schema made from Grafana's TypeScript: `dashboard`, or a panel's type."""
    found: dict[str, Any] = recorded("schemas")[name]
    return found
