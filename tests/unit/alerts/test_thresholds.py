"""Thresholds: how they are written, and what is refused."""

from __future__ import annotations

import re

import pytest

from alerts import thresholds
from alerts.annotations import judged_by
from alerts.quantity import Threshold, ThresholdError, Unit, format_duration, parse_duration
from alerts.rule import Alert
from alerts.rules import ALERTS
from exporter.signals.conditions.limits import DEFAULT_LIMITS

ERRORS = {
    "no value": ("stream_full_ratio", "stream_full_ratio: write it as name=value"),
    "unknown": ("xyz=5", "xyz: there is no such threshold"),
    "a slip": (
        "stream_ful_ratio=0.9",
        "stream_ful_ratio: there is no such threshold; did you mean stream_full_ratio?",
    ),
    "a percentage": (
        "stream_full_ratio=98",
        "stream_full_ratio=98: is not a ratio above 0 and up to 1, like 0.8",
    ),
    "a ratio of nothing": (
        "redelivery_ratio=0",
        "redelivery_ratio=0: is not a ratio above 0 and up to 1, like 0.8",
    ),
    "a duration without unit": (
        "clock_offset=1",
        "clock_offset=1: is not a difference of times like 1s or 1.5s",
    ),
    "no duration at all": (
        "clock_offset=0s",
        "clock_offset=0s: is not a difference of times like 1s or 1.5s",
    ),
    "a broken number": ("replica_lag=10.5", "replica_lag=10.5: is not a whole number like 1000"),
    "a word": ("replica_lag=many", "replica_lag=many: is not a whole number like 1000"),
    "a negative number": ("replica_lag=-1", "replica_lag=-1: is not a whole number like 1000"),
    "a decimal size": (
        "dedupe_memory=512MB",
        "dedupe_memory=512MB: is not a size like 512MiB or 240B",
    ),
    "a factor of nothing": (
        "ack_floor_gap_windows=0",
        "ack_floor_gap_windows=0: is not a factor above 0, like 5 or 0.5",
    ),
    "a warning above its page": (
        "account_high_ratio=0.97",
        "account_high_ratio=0.97: is not below account_full_ratio=0.95",
    ),
    "a page below its warning": (
        "stream_full_ratio=0.85",
        "stream_filling_ratio=0.85: is not below stream_full_ratio=0.85",
    ),
}


@pytest.mark.parametrize(("written", "line"), ERRORS.values(), ids=ERRORS)
def test_a_wrong_value_is_reported_in_one_line(written: str, line: str) -> None:
    with pytest.raises(ThresholdError) as caught:
        thresholds.overridden([written], of_exporter=True)
    assert str(caught.value) == line


def test_every_default_can_be_parsed_from_its_text() -> None:
    assert [each.name for each in thresholds.ALL if each.with_text(each.text) != each] == []


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        ("consumer_stalled=1m30s", "consumer_stalled", 90.0),
        ("clock_offset=0.5s", "clock_offset", 0.5),
        ("rollup_age=2d", "rollup_age", 172_800.0),
        ("stream_full_ratio=1", "stream_full_ratio", 1.0),
        ("replica_lag=0", "replica_lag", 0.0),
        ("dedupe_memory=1.5GiB", "dedupe_memory", 1.5 * 2**30),
        ("ack_floor_gap_windows=2.5", "ack_floor_gap_windows", 2.5),
    ],
)
def test_a_value_is_parsed_in_its_unit(written: str, name: str, value: float) -> None:
    assert thresholds.overridden([written], of_exporter=True)[name].value == value


def test_the_last_assignment_counts_and_the_rest_stay() -> None:
    chosen = thresholds.overridden(["leader_changes=5", "leader_changes=7"])
    assert chosen["leader_changes"].value == 7
    assert {k: v for k, v in chosen.items() if k != "leader_changes"} == {
        k: v for k, v in thresholds.BY_NAME.items() if k != "leader_changes"
    }
    assert thresholds.LEADER_CHANGES.value == 3


def test_rules_cannot_change_what_the_exporter_judges_by() -> None:
    """Else the alert and the status page would disagree."""
    assert dict(DEFAULT_LIMITS.items()) == {
        name: thresholds.BY_NAME[name].value for name in thresholds.OF_EXPORTER
    }
    reason = "the exporter judges by it: set thresholds.replica_lag in its configuration"
    with pytest.raises(ThresholdError, match=f"^replica_lag: {reason}$"):
        thresholds.overridden(["replica_lag=5"])


def test_no_rule_compares_with_a_default_of_the_exporter() -> None:
    """The exporter may have another one: the rule reads it."""
    wrong = {
        (alert.name, each.name)
        for alert in ALERTS
        for each in alert.thresholds
        if each.name in thresholds.OF_EXPORTER
    }
    assert not wrong


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_a_text_prints_the_number_by_which_the_exporter_judges(alert: Alert) -> None:
    for name in re.findall("<([a-z_]+)>", alert.description):
        if name in thresholds.OF_EXPORTER:
            assert judged_by(thresholds.BY_NAME[name]) in alert.description


def test_a_wrong_default_is_refused_at_import() -> None:
    with pytest.raises(ThresholdError, match=r"^ratio: 1\.5 is not a ratio"):
        Threshold("ratio", 1.5, Unit.RATIO, "x", ())
    with pytest.raises(ThresholdError, match="is not snake_case"):
        Threshold("Ratio", 0.5, Unit.RATIO, "x", ())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (45, "45s"), (90, "1m30s"), (3600, "1h"), (129_600, "1d12h"), (0.25, "250ms")],
)
def test_a_duration_is_written_short(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize("written", ["", "5", "m5", "30s1m", "1m 30s", "-5s", "5w"])
def test_what_is_no_duration_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(written)


def test_a_ratio_is_a_percentage_in_prose() -> None:
    assert thresholds.STREAM_FULL_RATIO.prose == "98 %"
    assert thresholds.SNAPSHOT_AGE.prose == "45s"
