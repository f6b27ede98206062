"""Grafana's Foundation SDK parses the boards and writes them again without loss."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from support.grafana.boards import BOARDS, Json

with warnings.catch_warnings():
    # It prefers the next format, which Grafana 10 to 12 do not have.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard


@pytest.fixture(scope="module", autouse=True)
def _with_plugins() -> None:
    """Without them the SDK has panels and queries only as plain dictionaries."""
    register_default_plugins()


def round_trip(board: Json) -> Json:
    read = Dashboard.from_json(json.loads(json.dumps(board)))
    written: Json = json.loads(json.dumps(read, cls=JSONEncoder))
    return written


def losses(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """What is missing or different; additions of the SDK do not count."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                yield f"{path}.{key}: gone"
            else:
                yield from losses(value, after[key], f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{path}: {len(before)} became {len(after)}"
        for index, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from losses(one, other, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {before!r} became {after!r}"


def test_nothing_is_lost() -> None:
    lost = {uid: [*losses(board, round_trip(board))] for uid, board in BOARDS.items()}
    assert {uid: found for uid, found in lost.items() if found} == {}


def test_an_unknown_key_would_be_lost() -> None:
    board = BOARDS["sg-clocks"] | {"hideControls": True}
    assert list(losses(board, round_trip(board))) == [".hideControls: gone"]
