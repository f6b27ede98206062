"""The exit code of an audit: a report that is not whole never passes for a clean one."""

from collections.abc import Iterator

import pytest
from support.audit.reports import ORDERS, check, judged, scene

from exporter.audit.check import Check, Finding
from exporter.audit.command.flags import AuditRequest, read_request
from exporter.audit.command.main import _exit_code
from exporter.audit.context import AuditContext
from exporter.audit.output.system_audit import Audited
from exporter.audit.report import Unanswered


def breaks(_: AuditContext) -> Iterator[Finding]:
    yield ORDERS
    raise ZeroDivisionError("by\x1bnothing")


CALM, BROKEN, FOUND = check("calm"), check("broken", find=breaks), check("found", ORDERS)
SILENT = Unanswered("west", "account", "stream_list failed (connection): nobody there")


@pytest.fixture
def request_made() -> AuditRequest:
    return read_request(["--nats", "nats://127.0.0.1:4222"], {})


def audited(*checks: Check, gaps: tuple[str, ...] = ()) -> Audited:
    return Audited(judged(scene(), *checks), checks, "account", 1, 1, gaps)


@pytest.mark.parametrize(
    ("made", "unanswered", "code"),
    [
        (audited(CALM), (), 0),
        (audited(CALM, BROKEN), (), 2),
        (audited(CALM, gaps=("1 stream does not answer: R1",)), (), 2),
        (audited(CALM), (SILENT,), 2),
        (audited(FOUND), (), 1),
        (audited(FOUND, BROKEN), (SILENT,), 1),
    ],
    ids=["calm", "a broken check", "a gap", "a silent system", "found", "found and not whole"],
)
def test_what_is_not_whole_is_not_fine(
    made: Audited, unanswered: tuple[Unanswered, ...], code: int, request_made: AuditRequest
) -> None:
    assert _exit_code([made], unanswered, request_made) == code


def test_what_is_missing_is_told_in_one_line_each(
    request_made: AuditRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    made = audited(BROKEN, gaps=("1 stream does not answer: R1",))
    assert _exit_code([made], [SILENT], request_made) == 2
    assert capsys.readouterr().err.splitlines() == [
        "streamgauge: west: stream_list failed (connection): nobody there",
        "streamgauge: nats: not answered: 1 stream does not answer: R1",
        "streamgauge: nats: check broken failed by a mistake of its own: "
        "ZeroDivisionError: by\\x1bnothing",
    ]
