"""What makes the declaration of an alert or a recording wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from alerts.queries import latest
from alerts.rule import Alert, Board, Recording, RuleError, Severity
from exporter import catalog

RIGHT = Alert(
    name="StreamTested",
    severity=Severity.INFO,
    when=latest(catalog.STREAM_UP).equals(0),
    hold="5m",
    summary="A stream is tested.",
    description="Stream {{ $labels.stream }} is tested above <stream_full_ratio>.",
    condition="Always.",
    board=Board.STREAM,
)

FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no camel": ({"name": "stream_tested"}, "is not CamelCase words"),
    "the prefix twice": ({"name": "JetStreamTested"}, "carries the prefix JetStream by itself"),
    "no condition": ({"when": latest(catalog.STREAM_UP)}, "has no condition: it would always fire"),
    "no full stop": ({"condition": "Always"}, "has a text without a full stop"),
    "a summary per asset": (
        {"summary": "{{ $labels.stream }} is tested."},
        "has a summary that differs from asset to asset",
    ),
    "a label of others": (
        {"description": "{{ $labels.consumer }} is tested."},
        "speaks of a label that it does not have",
    ),
    "an unknown threshold": (
        {"description": "Above <stream_ful_ratio>."},
        "names thresholds that do not exist: ['stream_ful_ratio']",
    ),
    "nothing to guard by": (
        {
            "when": latest(catalog.ARCHIVE_WAL_BYTES) > 0,
            "description": "The log is tested.",
        },
        "has no system to guard by",
    ),
}


@pytest.mark.parametrize(("changes", "why"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_alert_is_refused_when_it_is_declared(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(RuleError) as caught:
        replace(RIGHT, **changes)
    assert str(caught.value) == f"{changes.get('name', 'StreamTested')}: {why}"


def test_a_wait_must_be_a_duration() -> None:
    with pytest.raises(ValueError, match="not a duration"):
        replace(RIGHT, hold="5")


def test_a_recording_says_what_it_is() -> None:
    value = latest(catalog.STREAM_UP)
    with pytest.raises(RuleError, match="is not streamgauge:subject:operation"):
        Recording("stream_up", value, "A stream is up.")
    with pytest.raises(RuleError, match="its meaning is not a whole sentence"):
        Recording("streamgauge:stream:up", value, "up")


def test_the_guard_stands_at_the_end_and_can_be_left_out() -> None:
    from alerts.render_options import DEFAULT

    guard = "min by (system) (min_over_time(streamgauge_snapshot_age_seconds[2m])) < 45"
    assert RIGHT.expression.render(DEFAULT).endswith(f"\nand on (system) {guard}")
    assert "snapshot_age" not in replace(RIGHT, guarded=False).expression.render(DEFAULT)
