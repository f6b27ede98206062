"""The log of audits: new and resolved findings once, with a limit."""

import logging
from typing import Any

import pytest
from support.audit.reports import ORDERS, WORKER, audit_context, check, evaluated, muted_consumer

from exporter.audit.check import Finding
from exporter.audit.log import MAX_COMPARED, MAX_LINES, AuditLog
from exporter.audit.report import Report
from exporter.audit.severity import Severity


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
    return evaluated(audit_context(), check("a-check", *found, severity=severity))


def test_the_first_audit_is_one_line(log: AuditLog, caplog: pytest.LogCaptureFixture) -> None:
    log.update(report(ORDERS, WORKER))
    ((level, message, _),) = lines(caplog)
    assert (level, message.split(" system=")[0]) == ("INFO", "first audit")


def test_unchanged_findings_are_not_logged_again(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    first = report(ORDERS)
    log.update(first)
    lines(caplog)
    log.update(first)
    log.update(report(ORDERS))
    log.update(None)
    assert lines(caplog) == []


@pytest.mark.parametrize(
    ("severity", "level"),
    [(Severity.CRIT, "WARNING"), (Severity.WARN, "WARNING"), (Severity.INFO, "INFO")],
)
def test_new_and_resolved_findings_are_a_line_each(
    severity: Severity, level: str, log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.update(report())
    lines(caplog)
    log.update(report(WORKER, severity=severity))
    log.update(report(severity=severity))
    logged = [(each, message) for each, message, _ in lines(caplog)]
    assert [each for each, _ in logged] == [level, "INFO"]
    assert [message.split(" system=")[0] for _, message in logged] == [
        "new finding",
        "finding resolved",
    ]


def test_a_finding_that_was_muted_is_logged_as_muted(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.update(report(WORKER))
    lines(caplog)
    log.update(evaluated(audit_context(muted_consumer("a-check")), check("a-check", WORKER)))
    ((_, message, _),) = lines(caplog)
    assert message.startswith("finding muted")


def test_a_flood_is_cut_and_counted(log: AuditLog, caplog: pytest.LogCaptureFixture) -> None:
    many = [Finding(evidence="", stream=f"S{number}") for number in range(MAX_LINES + 5)]
    log.update(report(ORDERS))
    lines(caplog)
    log.update(report(*many))
    messages = [message for _, message, _ in lines(caplog)]
    assert len(messages) == MAX_LINES + 1
    assert messages[-1].startswith("too many changed findings to log")


def test_very_many_findings_of_a_check_are_counted(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    many = [Finding(evidence="", stream=f"S{number}") for number in range(MAX_COMPARED + 1)]
    log.update(report(*many))
    lines(caplog)
    log.update(report(*many[:-1], ORDERS))
    assert lines(caplog) == []
    log.update(report(*many, ORDERS))
    ((_, message, fields),) = lines(caplog)
    assert message == "number of findings changed"
    assert (fields["before"], fields["now"]) == (MAX_COMPARED + 1, MAX_COMPARED + 2)


def test_a_broken_check_and_an_unknown_code_are_logged_once(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(_: object) -> Any:
        raise ValueError("no number")

    def broken() -> Report:
        return evaluated(audit_context(muted_consumer("no-such")), check("broken", find=breaks))

    log.update(broken())
    levels = [level for level, _, _ in lines(caplog)]
    assert sorted(levels) == ["ERROR", "INFO", "WARNING"]
    log.update(broken())
    assert lines(caplog) == []
