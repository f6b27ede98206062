"""Every finding: yielded when it should be, absent in a good month, with commands that exist."""

import re
from collections.abc import Callable
from datetime import date
from functools import cache
from operator import attrgetter
from typing import Any, Final

import pytest
from support.collected import over_all
from support.documents import ROOT
from support.nats.cli_commands import nats_cli, programs_called
from support.rollups.literal_rollups import LiteralRollups
from support.rollups.report_month import (
    CONSUMER,
    GIB,
    LAST,
    MADE,
    MONTH,
    NOVEMBER,
    SERVER,
    STREAM,
    forecast,
    healthy,
    report_of,
)

from alerts import thresholds
from exporter import catalog as c
from spark_rollups.report.facts.assets import Subject
from spark_rollups.report.findings.finding import (
    BY_CODE,
    Definition,
    Finding,
    Severity,
    make_finding,
)
from spark_rollups.report.main import build_report

Fault = Callable[[LiteralRollups], None]
PROGRAMS: Final = {"nats", "chronyc", "timedatectl", "streamgauge"}
BUCKETS: Final = c.CONSUMER_ACK_SECONDS.name + "_bucket"


def faults(rollups: LiteralRollups, *faults_of: Fault) -> list[Finding]:
    for fault in faults_of:
        fault(rollups)
    return list(report_of(rollups).findings)


def again(**changes: object) -> Fault:
    """Another forecast in place of the good one."""

    def fault(rollups: LiteralRollups) -> None:
        rollups.asof.clear()
        rollups.forecast(LAST, **forecast(**changes))

    return fault


def without(metric: str) -> Fault:
    def fault(rollups: LiteralRollups) -> None:
        for table, rows in rollups.rows.items():
            rollups.rows[table] = [row for row in rows if row["metric"] != metric]

    return fault


def replaced(metric: c.Metric, value: float, **index: str) -> Fault:
    def fault(rollups: LiteralRollups) -> None:
        without(metric.name)(rollups)
        rollups.gauge(metric, NOVEMBER, value, **index)

    return fault


def raised(
    metric: c.Metric, rise: float, labels: dict[str, str] | None = None, **index: str
) -> Fault:
    """A counter that rises on the twelfth day of the month."""

    def fault(rollups: LiteralRollups) -> None:
        without(metric.name)(rollups)
        rollups.counter(
            metric, NOVEMBER, lambda day: rise if day == 11 else 0, labels=labels, **index
        )

    return fault


def acks(seconds: float) -> Fault:
    """All acknowledgements took between half of that and that."""

    def fault(rollups: LiteralRollups) -> None:
        for bound in (seconds / 2, seconds, float("inf")):
            label = {"le": "+Inf" if bound == float("inf") else str(bound)}
            number = 0 if bound == seconds / 2 else 100
            rollups.counter(
                c.CONSUMER_ACK_SECONDS, NOVEMBER, number, labels=label, name=BUCKETS, **CONSUMER
            )

    return fault


def states(seconds: dict[int, float]) -> Fault:
    def fault(rollups: LiteralRollups) -> None:
        rollups.rows["states"].clear()
        rollups.states(c.CONSUMER_VERDICT, NOVEMBER, seconds, **CONSUMER)

    return fault


def account(used: float) -> Fault:
    def fault(rollups: LiteralRollups) -> None:
        for metric, value in (
            (c.ACCOUNT_STORAGE_USED_BYTES, used),
            (c.ACCOUNT_STORAGE_LIMIT_BYTES, 100.0),
        ):
            rollups.gauge(metric, NOVEMBER, value, labels={"tier": ""}, account="APP")

    return fault


def lag(worst: float) -> Fault:
    def fault(rollups: LiteralRollups) -> None:
        rollups.rows["daily"] = [
            row
            for row in rollups.rows["daily"]
            if row["metric"] != c.CONSUMER_LAG_SECONDS.name or row["day"] not in NOVEMBER
        ]
        rollups.gauge(c.CONSUMER_LAG_SECONDS, NOVEMBER, worst, **CONSUMER)

    return fault


def ephemerals(more: float) -> Fault:
    def fault(rollups: LiteralRollups) -> None:
        metric = c.STREAM_EPHEMERAL_CONSUMERS
        rollups.gauge(metric, NOVEMBER, lambda day: 3 + more * day / 29, **STREAM)

    return fault


def audit(severity: str) -> Fault:
    def fault(rollups: LiteralRollups) -> None:
        labels = {"check": "no-ack", "severity": severity}
        rollups.gauge(c.STREAM_CONFIG_FINDINGS, NOVEMBER, 2, labels=labels, **STREAM)

    return fault


def days_gone(rollups: LiteralRollups) -> None:
    for day in (date(2026, 11, 8), date(2026, 11, 9)):
        del rollups.covered[day]


def skipped(rollups: LiteralRollups) -> None:
    labels = {"request": "subsz", "reason": "ceiling"}
    rollups.gauge(c.REQUEST_SKIPPED, NOVEMBER, 1, labels=labels)


SERVER_FORECAST: Final = {
    "subject": "server", "metric": c.SERVER_STORAGE_USED_BYTES.name, "account": "", "stream": "",
    "server": "n1", "limit_name": "storage",
}  # fmt: skip
ACCOUNT_FORECAST: Final = {
    "subject": "account", "metric": c.ACCOUNT_STORAGE_USED_BYTES.name, "stream": "",
    "limit_name": "storage",
}  # fmt: skip
DATES: Final = {
    "earliest": date(2026, 12, 20), "likely": date(2027, 1, 2), "latest": date(2027, 1, 20),
    "not_before": None,
}  # fmt: skip

# Of every code, one fault that must raise it and how grave that is.
PROVOKED: Final[dict[str, tuple[Severity, Fault]]] = {
    "CAP-STREAM-FULL": (Severity.CRITICAL, again(outlook="reached", level=40 * GIB, earliest=LAST)),
    "CAP-STREAM-FULL-SOON": (Severity.WARNING, again(outlook="act", **DATES)),
    "CAP-SERVER-FULL-SOON": (Severity.WARNING, again(outlook="expected", **DATES, **SERVER_FORECAST)),
    "CAP-SERVER-STORAGE-HIGH": (
        Severity.CRITICAL, replaced(c.SERVER_STORAGE_USED_BYTES, 91 * GIB, **SERVER),
    ),
    "CAP-ACCOUNT-FULL-SOON": (Severity.WARNING, again(outlook="act", **DATES, **ACCOUNT_FORECAST)),
    "CAP-ACCOUNT-HIGH": (Severity.WARNING, account(80.0)),
    "CAP-FORECAST-UNKNOWN": (Severity.NOTE, again(outlook="unknown", reason="5 days with points")),
    "CON-MESSAGES-LOST": (Severity.CRITICAL, raised(c.CONSUMER_LOST_MESSAGES, 1, **CONSUMER)),
    "CON-HEADROOM-LOW": (
        Severity.WARNING, replaced(c.CONSUMER_RETENTION_HEADROOM_RATIO, 0.19, **CONSUMER),
    ),
    "CON-REDELIVERY-HIGH": (Severity.WARNING, raised(c.CONSUMER_REDELIVERIES, 151_000, **CONSUMER)),
    "CON-NOT-WELL": (Severity.WARNING, states({0: 90_000, 3: 10_000})),
    "CON-LAG-WORSE": (Severity.WARNING, lag(700)),
    "CON-MESSAGES-ABANDONED": (
        Severity.WARNING, replaced(c.CONSUMER_EXHAUSTED_MESSAGES, 3, **CONSUMER),
    ),
    "CON-EPHEMERALS-GROW": (Severity.WARNING, ephemerals(51)),
    "SIZE-ACK-PENDING-HIGH": (Severity.NOTE, replaced(c.CONSUMER_NUM_ACK_PENDING, 800, **CONSUMER)),
    "SIZE-ACK-PENDING-LOOSE": (Severity.NOTE, replaced(c.CONSUMER_MAX_ACK_PENDING, 20_000, **CONSUMER)),
    "SIZE-ACK-WAIT-SHORT": (Severity.WARNING, acks(16)),
    "SIZE-RESERVED-UNUSED": (Severity.NOTE, replaced(c.STREAM_MAX_BYTES, 200 * GIB, **STREAM)),
    "PUB-NOT-STORED": (Severity.NOTE, raised(c.STREAM_PUBLISHES_UNSTORED, 80_000, **STREAM)),
    "PUB-REJECTED": (
        Severity.WARNING, raised(c.STREAM_PUBLISH_REJECTIONS, 20_000, {"code": "10071"}, **STREAM),
    ),
    "PUB-DEDUPE-MEMORY": (Severity.WARNING, replaced(c.STREAM_DEDUPE_WINDOW_MESSAGES, 2_300_000, **STREAM)),
    "SRV-NOT-RESPONDING": (Severity.WARNING, replaced(c.SERVER_UP, 0.98, **SERVER)),
    "SRV-API-ERRORS": (Severity.WARNING, raised(c.SERVER_API_ERRORS, 301, **SERVER)),
    "SRV-CLIENTS-CUT": (Severity.NOTE, raised(c.SERVER_SLOW_CONSUMERS, 1, **SERVER)),
    "CLK-OFFSET": (Severity.WARNING, replaced(c.SERVER_CLOCK_OFFSET_SECONDS, -1.1, **SERVER)),
    "CHG-SEQUENCE-BACK": (Severity.CRITICAL, raised(c.STREAM_SEQUENCE_REGRESSIONS, 1, **STREAM)),
    "CHG-STREAM-RECREATED": (Severity.WARNING, raised(c.STREAM_RECREATED, 1, **STREAM)),
    "CHG-STREAM-RESTORED": (Severity.NOTE, raised(c.STREAM_RESTORES, 1, **STREAM)),
    "CHG-QUORUM-LOST": (Severity.WARNING, raised(c.STREAM_QUORUM_LOST, 1, **STREAM)),
    "CHG-CONSUMER-RECREATED": (Severity.WARNING, raised(c.CONSUMER_RECREATED, 1, **CONSUMER)),
    "CHG-CONSUMERS-REMOVED": (Severity.WARNING, raised(c.STREAM_CONSUMERS_REMOVED, 2, **STREAM)),
    "CHG-LEADERS-MANY": (Severity.NOTE, raised(c.STREAM_LEADER_CHANGES, 4, **STREAM)),
    "CHG-DATA-DAMAGED": (Severity.CRITICAL, replaced(c.STREAM_LOST_MESSAGES, 5, **STREAM)),
    "CFG-AUDIT": (Severity.WARNING, audit("warn")),
    "DATA-DAYS-MISSING": (Severity.WARNING, days_gone),
    "DATA-SERIES-DROPPED": (Severity.WARNING, raised(c.SERIES_DROPPED, 9)),
    "DATA-REQUESTS-FAILED": (Severity.NOTE, skipped),
    "DATA-EVENTS-NOT-RECEIVED": (
        Severity.NOTE, without(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS.name),
    ),
}  # fmt: skip
# Values just below the thresholds: no finding.
HARMLESS: Final[dict[str, Fault]] = {
    "CAP-STREAM-FULL-SOON": again(
        outlook="by design", reason="full, and drops its oldest messages"
    ),
    "CAP-SERVER-STORAGE-HIGH": replaced(c.SERVER_STORAGE_USED_BYTES, 90 * GIB, **SERVER),
    "CAP-ACCOUNT-HIGH": account(79.9),
    "CON-MESSAGES-LOST": raised(c.CONSUMER_LOST_MESSAGES, 0, **CONSUMER),
    "CON-HEADROOM-LOW": replaced(c.CONSUMER_RETENTION_HEADROOM_RATIO, 0.21, **CONSUMER),
    "CON-REDELIVERY-HIGH": raised(c.CONSUMER_REDELIVERIES, 150_000, **CONSUMER),
    "CON-NOT-WELL": states({0: 95_100, 3: 4_900}),
    "CON-LAG-WORSE": lag(590),
    "CON-EPHEMERALS-GROW": ephemerals(50),
    "SIZE-ACK-PENDING-HIGH": replaced(c.CONSUMER_NUM_ACK_PENDING, 799, **CONSUMER),
    "SIZE-ACK-WAIT-SHORT": acks(15),
    "SIZE-RESERVED-UNUSED": replaced(c.STREAM_MAX_BYTES, 80 * GIB, **STREAM),
    "PUB-NOT-STORED": raised(c.STREAM_PUBLISHES_UNSTORED, 75_000, **STREAM),
    "SRV-NOT-RESPONDING": replaced(c.SERVER_UP, 0.9995, **SERVER),
    "SRV-API-ERRORS": raised(c.SERVER_API_ERRORS, 300, **SERVER),
    "CLK-OFFSET": replaced(c.SERVER_CLOCK_OFFSET_SECONDS, 1.001, **SERVER),
    "CHG-LEADERS-MANY": raised(c.STREAM_LEADER_CHANGES, 3, **STREAM),
    "DATA-REQUESTS-FAILED": replaced(c.REQUEST_SUCCESS, 1),
}


@cache
def provoked(code: str) -> list[Finding]:
    return faults(healthy(), PROVOKED[code][1])


def test_a_good_month_has_no_finding() -> None:
    assert faults(healthy()) == []


def test_every_code_has_a_fault_that_raises_it() -> None:
    assert set(PROVOKED) == set(BY_CODE)


@pytest.mark.parametrize("code", PROVOKED)
def test_a_fault_raises_its_finding_with_evidence(code: str) -> None:
    severity = PROVOKED[code][0]
    (finding,) = [finding for finding in provoked(code) if finding.code == code]
    assert finding.severity is severity
    assert finding.evidence or code == "DATA-EVENTS-NOT-RECEIVED"
    assert (finding.by is None) == (severity is Severity.NOTE)


@pytest.mark.parametrize("code", HARMLESS)
def test_what_is_still_good_raises_nothing(code: str) -> None:
    assert code not in [finding.code for finding in faults(healthy(), HARMLESS[code])]


@over_all(PROVOKED, "correct the command in spark_rollups/report/findings/codes.toml")
def test_every_command_is_one_that_the_programs_have(code: str) -> None:
    for finding in provoked(code):
        for command in finding.commands:
            (arguments,) = programs_called(command)
            assert arguments[0] in PROGRAMS, command
            if arguments[0] == "nats":
                assert nats_cli().complaint(arguments[1:]) is None, command


def test_commands_that_change_something_only_show_what_they_would_change() -> None:
    lines = [command for definition in BY_CODE.values() for command in definition.commands]
    edits = [line for line in lines if " edit " in line]
    assert len(edits) > 5
    assert all(line.endswith("--dry-run") for line in edits)
    assert not [line for line in lines if re.search(r" (rm|rmm|purge|reset|restore)\b", line)]


@over_all(BY_CODE.values(), "edit spark_rollups/report/findings/codes.toml", attrgetter("code"))
def test_a_definition_is_whole(definition: Definition) -> None:
    assert re.fullmatch(r"[A-Z]{3,4}(-[A-Z]+)+", definition.code), "is not a code"
    assert definition.title, "has no title"
    assert definition.why, "has no reason"
    assert definition.remedy, "has no remedy"
    runbook = ROOT / f"docs/runbooks/{definition.runbook}.md"
    assert not definition.runbook or runbook.is_file(), f"names no runbook: {runbook.name}"


def test_names_are_quoted_for_the_shell() -> None:
    subject = Subject("prod", "APP", "a; rm -rf /", "$(reboot)")
    values = {
        "not_well": 0.1, "not_well_before": None, "worst_state": "falling behind", "now": "stalled",
    }  # fmt: skip
    finding = make_finding("CON-NOT-WELL", subject, LAST, **values)
    assert "mostly: falling behind; at the end: stalled." in finding.summary
    assert finding.commands[0] == "nats consumer info 'a; rm -rf /' '$(reboot)'"


def test_a_command_without_its_values_is_omitted() -> None:
    values: dict[str, Any] = {
        "redelivery_ratio": 0.5,
        "redelivery_ratio_before": None,
        "redelivery_cause": "",
        "wasted": 5.0,
        "deliveries": 10.0,
    }
    subject = Subject("prod", "APP", "S", "C")
    finding = make_finding("CON-REDELIVERY-HIGH", subject, LAST, **values)
    assert finding.commands == ("nats consumer info S C",)


def test_a_limit_must_be_raised_a_week_before_the_earliest_date() -> None:
    (finding,) = faults(healthy(), again(outlook="act", **DATES))
    assert finding.by == date(2026, 12, 13)
    assert (
        "around 2\u00a0Jan\u00a02027 (20\u00a0Dec\u00a02026 to 20\u00a0Jan\u00a02027)"
        in finding.summary
    )
    # 16 GiB + 3 + 1 are expected at most; the limit of 40 is larger, plus a quarter.
    assert finding.commands[0] == f"nats stream edit ORDERS --max-bytes {50 * 2**30} --dry-run"


@pytest.mark.parametrize(("likely", "severity"), [(14, Severity.CRITICAL), (15, Severity.WARNING)])
def test_within_the_alerts_horizon_it_is_critical(likely: int, severity: Severity) -> None:
    (finding,) = faults(
        healthy(), again(outlook="act", likely=date(2026, 12, likely), not_before=None)
    )
    assert finding.severity is severity


def test_a_threshold_of_ones_own_moves_the_line() -> None:
    chosen = thresholds.overridden(["redelivery_ratio=0.0001"], of_exporter=True)
    report = build_report(healthy(), MONTH, MADE, chosen)
    assert [finding.code for finding in report.findings] == ["CON-REDELIVERY-HIGH"]


def test_exact_duplicates_are_no_finding() -> None:
    """Duplicates counted by the tap are no finding; the rest is."""
    rollups = healthy()
    raised(c.STREAM_PUBLISHES_UNSTORED, 200_000, **STREAM)(rollups)
    rollups.gauge(c.STREAM_DEDUPE_EXACT, NOVEMBER, 1, **STREAM)
    rollups.counter(
        c.STREAM_DEDUPE_HITS, NOVEMBER, lambda day: 200_000 if day == 11 else 0, **STREAM
    )
    assert faults(rollups) == []


def test_the_gravest_come_first_and_then_the_soonest() -> None:
    found_ = faults(
        healthy(), audit("info"), raised(c.CONSUMER_LOST_MESSAGES, 5, **CONSUMER),
        again(outlook="act", **DATES), days_gone,
    )  # fmt: skip
    assert [finding.code for finding in found_] == [
        "CON-MESSAGES-LOST", "CAP-STREAM-FULL-SOON", "DATA-DAYS-MISSING", "CFG-AUDIT",
    ]  # fmt: skip


def test_the_page_on_the_report_knows_every_code_and_no_other() -> None:
    text = (ROOT / "docs/report.md").read_text()
    named = set(re.findall(r"\b(?:CAP|CON|SIZE|PUB|SRV|CLK|CHG|CFG|DATA)(?:-[A-Z]+)+\b", text))
    assert named == set(BY_CODE)
