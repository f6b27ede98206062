"""The exit code of an audit: an incomplete report is never a success."""

from collections.abc import Iterator

import pytest
from support.audit.reports import ORDERS, audit_context, check, evaluated

from exporter.audit.check import Check, Finding
from exporter.audit.command.flags import AuditRequest, read_request
from exporter.audit.command.main import _exit_code
from exporter.audit.context import AuditContext
from exporter.audit.output.system_audit import AuditedSystem
from exporter.audit.report import FailedSystem


def breaks(_: AuditContext) -> Iterator[Finding]:
    yield ORDERS
    raise ZeroDivisionError("by\x1bnothing")


CALM, BROKEN, FOUND = check("calm"), check("broken", find=breaks), check("found", ORDERS)
FAILED = FailedSystem("west", "account", "stream_list failed (connection): no servers available")


@pytest.fixture
def request_made() -> AuditRequest:
    return read_request(["--nats", "nats://127.0.0.1:4222"], {})


def audited(*checks: Check, gaps: tuple[str, ...] = ()) -> AuditedSystem:
    return AuditedSystem(evaluated(audit_context(), *checks), checks, "account", 1, 1, gaps)


@pytest.mark.parametrize(
    ("made", "failed", "code"),
    [
        (audited(CALM), (), 0),
        (audited(CALM, BROKEN), (), 2),
        (audited(CALM, gaps=("1 stream did not respond: R1",)), (), 2),
        (audited(CALM), (FAILED,), 2),
        (audited(FOUND), (), 1),
        (audited(FOUND, BROKEN), (FAILED,), 1),
    ],
    ids=[
        "no finding",
        "broken check",
        "gap",
        "failed system",
        "finding",
        "finding and broken check",
    ],
)
def test_an_incomplete_audit_fails(
    made: AuditedSystem, failed: tuple[FailedSystem, ...], code: int, request_made: AuditRequest
) -> None:
    assert _exit_code([made], failed, request_made) == code


def test_missing_data_is_one_line_each(
    request_made: AuditRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    made = audited(BROKEN, gaps=("1 stream did not respond: R1",))
    assert _exit_code([made], [FAILED], request_made) == 2
    assert capsys.readouterr().err.splitlines() == [
        "streamgauge: west: stream_list failed (connection): no servers available",
        "streamgauge: nats: incomplete: 1 stream did not respond: R1",
        "streamgauge: nats: check broken: internal error: ZeroDivisionError: by\\x1bnothing",
    ]
