"""docs/demo.md tells of every failure that the demo can show, with its alert; each alert exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from alerts.rules import BY_NAME
from exporter.catalog import VERDICTS
from exporter.signals.conditions.words import Condition
from streamgauge.demo.faults.fault import Fault
from streamgauge.demo.faults.registry import KINDS, NAMES
from streamgauge.demo.plan import BROKEN_AT_START

PAGE = Path(__file__).parents[3] / "docs" / "demo.md"


def _rows() -> dict[str, str]:
    found = re.findall(r"^\| `([a-z-]+)`(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(found)


def test_the_page_lists_just_what_can_be_broken() -> None:
    assert tuple(_rows()) == NAMES


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_a_row_says_what_the_failure_says_of_itself(kind: type[Fault]) -> None:
    row = _rows()[kind.name]
    assert kind.what in row
    assert kind.place in row
    assert re.findall(r"`JetStream(\w+)`", row) == list(kind.alerts)
    assert ("(three servers)" in row) is kind.needs_cluster


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_the_alerts_and_verdicts_of_a_failure_exist(kind: type[Fault]) -> None:
    assert [name for name in kind.alerts if f"JetStream{name}" not in BY_NAME] == []
    conditions = {word.replace("_", " ") for word in Condition}
    assert any(kind.verdict in word for word in {*VERDICTS, *conditions})


def test_what_is_broken_at_start_can_be_broken() -> None:
    assert set(BROKEN_AT_START) <= set(NAMES)
