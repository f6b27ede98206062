"""The log of audits: changes of findings, at most one line a minute."""

import logging
from dataclasses import replace
from typing import Any

import pytest
from support.audit.reports import ORDERS, WORKER, audit_context, check, evaluated, muted_consumer
from support.exporter.models import NOW

from exporter.audit.check import Finding
from exporter.audit.log import AuditLog
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


def report(*found: Finding, severity: Severity = Severity.WARN, minutes: float = 0.0) -> Report:
    made = evaluated(audit_context(), check("a-check", *found, severity=severity))
    return replace(made, taken=NOW + 60 * minutes)


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


def test_new_and_resolved_findings_are_one_line(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.update(report())
    lines(caplog)
    log.update(report(WORKER, ORDERS, minutes=1))
    log.update(report(ORDERS, minutes=2))
    (level, message, fields), (later, _, fewer) = lines(caplog)
    assert (level, message) == ("WARNING", "findings changed")
    assert (fields["new"], fields["resolved"], fields["now"]) == (2, 0, 2)
    assert fields["names"] == "a-check ORDERS, a-check ORDERS > worker"
    assert (later, fewer["new"], fewer["resolved"], fewer["now"]) == ("INFO", 0, 1, 1)


def test_there_is_at_most_one_line_a_minute(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.update(report())
    lines(caplog)
    for tenth in range(1, 10):
        log.update(report(*([ORDERS] if tenth % 2 else []), minutes=tenth / 10))
    assert lines(caplog) == []
    log.update(report(ORDERS, WORKER, minutes=1))
    ((_, _, fields),) = lines(caplog)
    assert fields["new"] == 2


def test_what_is_info_is_not_logged(log: AuditLog, caplog: pytest.LogCaptureFixture) -> None:
    log.update(report())
    lines(caplog)
    log.update(report(WORKER, severity=Severity.INFO, minutes=1))
    log.update(report(minutes=2))
    assert lines(caplog) == []


def test_a_finding_that_was_muted_is_logged_as_muted(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.update(report(WORKER))
    lines(caplog)
    muted = evaluated(audit_context(muted_consumer("a-check")), check("a-check", WORKER))
    log.update(replace(muted, taken=NOW + 60))
    ((_, _, fields),) = lines(caplog)
    assert (fields["resolved"], fields["muted"]) == (0, 1)


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
