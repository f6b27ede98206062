"""What the log says of audits: what comes and goes, once, and never a flood."""

import logging
from typing import Any

import pytest
from support.audit.reports import ORDERS, WORKER, check, judged, muted_consumer, scene

from exporter.audit.check import Finding, Severity
from exporter.audit.log import MOST_COMPARED, MOST_LINES, AuditLog
from exporter.audit.report import Report


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> AuditLog:
    caplog.set_level(logging.INFO, logger="exporter.audit.log")
    return AuditLog("nats")


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, dict[str, Any]]]:
    found = [
        (record.levelname, record.getMessage(), getattr(record, "fields", {}))
        for record in caplog.records
    ]
    caplog.clear()
    return found


def report(*found: Finding, severity: Severity = Severity.WARN) -> Report:
    return judged(scene(), check("a-check", *found, severity=severity))


def test_the_first_audit_is_one_line(log: AuditLog, caplog: pytest.LogCaptureFixture) -> None:
    log.tell(report(ORDERS, WORKER))
    ((level, message, _),) = lines(caplog)
    assert (level, message.split(" system=")[0]) == ("INFO", "first audit")


def test_what_stays_is_not_told_again(log: AuditLog, caplog: pytest.LogCaptureFixture) -> None:
    first = report(ORDERS)
    log.tell(first)
    lines(caplog)
    log.tell(first)
    log.tell(report(ORDERS))
    log.tell(None)
    assert lines(caplog) == []


@pytest.mark.parametrize(
    ("severity", "level"),
    [(Severity.CRIT, "WARNING"), (Severity.WARN, "WARNING"), (Severity.INFO, "INFO")],
)
def test_what_comes_and_goes_is_a_line_each(
    severity: Severity, level: str, log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.tell(report())
    lines(caplog)
    log.tell(report(WORKER, severity=severity))
    log.tell(report(severity=severity))
    told = [(each, message) for each, message, _ in lines(caplog)]
    assert [each for each, _ in told] == [level, "INFO"]
    assert [message.split(" system=")[0] for _, message in told] == ["finding", "finding is gone"]


def test_a_finding_that_was_muted_is_told_as_muted(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.tell(report(WORKER))
    lines(caplog)
    log.tell(judged(scene(muted_consumer("a-check")), check("a-check", WORKER)))
    ((_, message, _),) = lines(caplog)
    assert message.startswith("finding is muted")


def test_a_flood_is_cut_and_counted(log: AuditLog, caplog: pytest.LogCaptureFixture) -> None:
    many = [Finding(evidence="", stream=f"S{number}") for number in range(MOST_LINES + 5)]
    log.tell(report(ORDERS))
    lines(caplog)
    log.tell(report(*many))
    messages = [message for _, message, _ in lines(caplog)]
    assert len(messages) == MOST_LINES + 1
    assert messages[-1].startswith("more findings came or went than are logged")


def test_of_a_check_that_very_many_fail_the_number_is_told(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    many = [Finding(evidence="", stream=f"S{number}") for number in range(MOST_COMPARED + 1)]
    log.tell(report(*many))
    lines(caplog)
    log.tell(report(*many[:-1], ORDERS))
    assert lines(caplog) == []
    log.tell(report(*many, ORDERS))
    ((_, message, fields),) = lines(caplog)
    assert message == "findings of a check"
    assert (fields["before"], fields["now"]) == (MOST_COMPARED + 1, MOST_COMPARED + 2)


def test_a_broken_check_and_a_mute_of_nothing_are_told_once(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(_: object) -> Any:
        raise ValueError("no number")

    def broken() -> Report:
        return judged(scene(muted_consumer("no-such")), check("broken", find=breaks))

    log.tell(broken())
    levels = [level for level, _, _ in lines(caplog)]
    assert sorted(levels) == ["ERROR", "INFO", "WARNING"]
    log.tell(broken())
    assert lines(caplog) == []
