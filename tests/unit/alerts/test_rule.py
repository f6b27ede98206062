"""Declarations of alerts and recordings, and what is refused in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from alerts.queries import latest
from alerts.rule import Alert, Board, Recording, RuleError, Severity
from exporter import catalog

VALID = Alert(
    name="StreamTested",
    severity=Severity.INFO,
    when=latest(catalog.STREAM_UP).equals(0),
    for_="5m",
    summary="A stream is tested.",
    description="Stream {{ $labels.stream }} is tested above <stream_full_ratio>.",
    condition="Always.",
    board=Board.STREAM,
)

PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "no camel": ({"name": "stream_tested"}, "is not CamelCase words"),
    "the prefix twice": ({"name": "JetStreamTested"}, "already has the prefix JetStream"),
    "no condition": ({"when": latest(catalog.STREAM_UP)}, "has no condition: it would always fire"),
    "no full stop": ({"condition": "Always"}, "has a text without a full stop"),
    "a summary per asset": (
        {"summary": "{{ $labels.stream }} is tested."},
        "has a summary with a template: it must be the same for every asset",
    ),
    "a label of others": (
        {"description": "{{ $labels.consumer }} is tested."},
        "uses a label that its series do not have",
    ),
    "an unknown threshold": (
        {"description": "Above <stream_ful_ratio>."},
        "names unknown thresholds: ['stream_ful_ratio']",
    ),
    "nothing to guard by": (
        {
            "when": latest(catalog.ARCHIVE_WAL_BYTES) > 0,
            "description": "The log is tested.",
        },
        "has no system to guard by",
    ),
}


@pytest.mark.parametrize(("changes", "why"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_wrong_alert_is_refused_when_it_is_declared(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(RuleError) as caught:
        replace(VALID, **changes)
    assert str(caught.value) == f"{changes.get('name', 'StreamTested')}: {why}"


def test_a_wait_must_be_a_duration() -> None:
    with pytest.raises(ValueError, match="not a duration"):
        replace(VALID, for_="5")


def test_a_recording_needs_a_name_and_a_meaning() -> None:
    value = latest(catalog.STREAM_UP)
    with pytest.raises(RuleError, match="is not streamgauge:subject:operation"):
        Recording("stream_up", value, "A stream is up.")
    with pytest.raises(RuleError, match="its meaning is not a whole sentence"):
        Recording("streamgauge:stream:up", value, "up")


def test_the_guard_is_the_last_condition_and_optional() -> None:
    from alerts.render_options import DEFAULT

    age = "min_over_time(streamgauge_snapshot_age_seconds[2m])"
    guard = f"min without (instance, pod, endpoint) ({age}) < 45"
    assert VALID.expression.render(DEFAULT).endswith(f"\nand ignoring (account, stream) {guard}")
    assert "snapshot_age" not in replace(VALID, guarded=False).expression.render(DEFAULT)
