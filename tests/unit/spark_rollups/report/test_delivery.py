"""The report arrives: by mail, by webhook, in a folder with an index; failures are loud."""

import email
import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from support.certificates import Authority
from support.mail_server import Mailbox, mail_server
from support.rollups.report_month import MADE, MONTH, healthy, report_of, with_everything

from spark_rollups.filesystem import Root
from spark_rollups.publishing.publication import last_report
from spark_rollups.report import delivery
from spark_rollups.report.chapters.summary import for_owner
from spark_rollups.report.delivery import (
    DeliveryError,
    OwnerRule,
    ReportSettings,
    repeated,
    slack_message,
    write_index,
)
from spark_rollups.report.main import build_report, main
from spark_rollups.report.model import Report
from spark_rollups.report.month import Month
from spark_rollups.report.render import html_report

SECRET: Final = "secret"
HOSTILE: Final = '<b onclick="x">&'


@pytest.fixture(scope="module")
def rollups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rollups")
    with_everything("PAY").write(folder)
    return folder


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_PAUSES", (0.0, 0.0))


@pytest.fixture(scope="module")
def bad() -> Report:
    return report_of(with_everything(HOSTILE))


def run(
    rollups: Path, out: Path, settings: dict[str, Any], *flags: str, made: datetime = MADE
) -> int:
    out.mkdir(exist_ok=True)
    config = out / "report.yml"
    config.write_text(json.dumps(settings))
    words = ["--rollups", rollups, "--month", "2026-11", "--out", out, "--config", config, *flags]
    return main([str(word) for word in words], made)


def mail_settings(mailbox: Mailbox, *recipients: str) -> dict[str, Any]:
    return {
        "host": "127.0.0.1", "port": mailbox.port, "encryption": "none", "sender": "sg@example.com",
        "recipients": list(recipients or ("team@example.com",)), "attach": ["html", "csv"],
    }  # fmt: skip


@contextmanager
def webhook(status: int = 200) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append(json.loads(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Tests are silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/secret-path", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


def encrypted(
    mailbox: Mailbox, folder: Path, encryption: str, password: str = SECRET
) -> dict[str, Any]:
    file = folder / "smtp.password"
    file.write_text(f"{password}\n")
    login = {"username": "streamgauge", "password_file": str(file)}
    return {"mail": {**mail_settings(mailbox), **login, "encryption": encryption}}


@pytest.mark.parametrize("encryption", ["starttls", "tls"])
def test_a_mail_is_sent_encrypted_after_a_login(
    rollups: Path, tmp_path: Path, authority: Authority, encryption: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.cert))
    login = ("streamgauge", SECRET)
    with mail_server("", authority.issue("smtp"), encryption == "starttls", login) as mailbox:
        settings = encrypted(mailbox, tmp_path, encryption)
        assert run(rollups, tmp_path / "out", settings, "--send") == 0
    assert [sender for sender, _, _ in mailbox.received] == ["sg@example.com"]
    assert mailbox.encrypted == [True]


@pytest.mark.parametrize("encryption", ["starttls", "tls"])
def test_a_certificate_that_is_not_trusted_gets_no_mail(
    rollups: Path, tmp_path: Path, authority: Authority, encryption: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    with mail_server("", authority.issue("other"), encryption == "starttls") as mailbox:
        settings = encrypted(mailbox, tmp_path, encryption)
        assert run(rollups, tmp_path / "out", settings, "--send") == 3
    assert mailbox.received == []
    assert "certificate verify failed" in capsys.readouterr().err


def test_without_starttls_of_the_server_nothing_is_sent_in_clear(
    rollups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with mail_server() as mailbox:
        settings = encrypted(mailbox, tmp_path, "starttls")
        assert run(rollups, tmp_path / "out", settings, "--send") == 3
    assert mailbox.received == []
    assert "STARTTLS extension not supported by server" in capsys.readouterr().err


def test_a_wrong_password_is_loud_and_is_not_in_the_output(
    rollups: Path, tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.cert))
    with mail_server("", authority.issue("smtp2"), True, ("streamgauge", SECRET)) as mailbox:
        settings = encrypted(mailbox, tmp_path, "starttls", "hunter2")
        assert run(rollups, tmp_path / "out", settings, "--send") == 3
    assert mailbox.received == []
    said = capsys.readouterr()
    assert "wrong user or password" in said.err
    assert "hunter2" not in said.err + said.out


def test_a_mail_has_the_first_page_inline_and_the_files_attached(
    rollups: Path, tmp_path: Path
) -> None:
    with mail_server() as mailbox:
        settings = {"mail": mail_settings(mailbox), "link": "https://reports.example.com/sg/"}
        assert run(rollups, tmp_path / "out", settings, "--send") == 0
    ((sender, recipients, data),) = mailbox.received
    assert (sender, recipients) == ("sg@example.com", ["team@example.com"])
    message = email.message_from_bytes(data, policy=default)
    assert isinstance(message, EmailMessage)
    assert re.match(
        r"Capacity report, November 2026, prod: \d+ due today, \d+ later", message["Subject"]
    )
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    for body in (text.get_content(), html.get_content()):
        assert "Due today: " in body
        assert "https://reports.example.com/sg/report-2026-11.html" in body
        assert "nats " in body
    page = html.get_content()
    assert "<style" not in page
    assert "<svg" not in page
    assert "<script" not in page
    names = [part.get_filename() for part in message.iter_attachments()]
    assert names == ["report-2026-11.html", "report-2026-11-csv.zip"]


def test_names_in_a_mail_are_escaped(bad: Report) -> None:
    from spark_rollups.report.render import render

    assert "<b onclick" not in render("mail.html", report=bad, link="")
    assert "<b onclick" in render("mail.txt", report=bad, link="")


def test_a_refused_recipient_and_a_dead_server_are_exit_code_3(
    rollups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with mail_server(refuse="b@example.com") as mailbox:
        settings = {"mail": mail_settings(mailbox, "a@example.com", "b@example.com")}
        assert run(rollups, tmp_path / "one", settings, "--send") == 3
    # Who has it does not get it again.
    assert [recipients for _, recipients, _ in mailbox.received] == [["a@example.com"]]
    assert "not sent: mail by 127.0.0.1: refused for b@example.com" in capsys.readouterr().err
    dead = {"mail": mail_settings(mailbox)}
    assert run(rollups, tmp_path / "two", dead, "--send") == 3
    assert f"not sent: mail by 127.0.0.1:{mailbox.port}: " in capsys.readouterr().err
    for name in ("one", "two"):  # written, and not a success
        assert (tmp_path / name / "report-2026-11.html").is_file()
        assert not (tmp_path / name / "streamgauge_report.prom").exists()


def test_webhooks_get_json_or_a_slack_message(rollups: Path, tmp_path: Path) -> None:
    with webhook() as (url, received):
        hooks = [{"url": url}, {"url": url, "format": "slack"}]
        assert run(rollups, tmp_path / "out", {"webhooks": hooks}, "--send") == 0
    plain, slack = received
    assert (plain["month"], plain["level"]) == ("2026-11", "critical")
    assert plain["actions"][0]["by"] == "today"
    assert slack["text"] == plain["subject"]
    assert slack["blocks"][1]["text"]["text"].startswith("*today* ")


def test_slack_markup_in_names_is_escaped(bad: Report) -> None:
    text = json.dumps(slack_message(bad, "https://x.example.com/r.html"))
    assert "<b onclick" not in text
    assert "&lt;b onclick" in text
    assert "<https://x.example.com/r.html|the whole report>" in text


def test_a_failing_webhook_does_not_stop_the_mail_and_its_address_stays_secret(
    rollups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with mail_server() as mailbox, webhook(500) as (url, received):
        settings = {"webhooks": [{"url": url}], "mail": mail_settings(mailbox)}
        assert run(rollups, tmp_path / "out", settings, "--send") == 3
    assert (len(mailbox.received), len(received)) == (1, 3)
    error = capsys.readouterr().err
    assert "not sent: webhook of 127.0.0.1: status 500" in error
    assert "secret-path" not in error


def test_a_missing_secret_is_a_failed_delivery_and_does_not_stop_the_others(
    rollups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent, empty = tmp_path / "absent", tmp_path / "empty"
    empty.touch()
    with mail_server() as mailbox, webhook() as (url, received):
        login = {"username": "sg", "password_file": str(absent)}
        hooks = [{"url_file": str(empty)}, {"url": url}]
        settings = {"mail": {**mail_settings(mailbox), **login}, "webhooks": hooks}
        assert run(rollups, tmp_path / "out", settings, "--send") == 3
    assert (len(mailbox.received), len(received)) == (0, 1)
    last = capsys.readouterr().err.splitlines()[-1]
    assert f"not sent: {absent}: cannot be read" in last
    assert f"{empty}: is empty" in last
    assert not (tmp_path / "out" / "streamgauge_report.prom").exists()


def test_a_delivery_is_repeated_until_it_succeeds() -> None:
    attempts: list[int] = []

    def deliver() -> None:
        attempts.append(1)
        if len(attempts) < 3:
            raise DeliveryError("busy")

    lines: list[str] = []
    repeated(deliver, lines.append)
    assert len(attempts) == 3
    assert lines == ["busy; retrying in 0 s"] * 2


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({}, "--send: the settings (--config) name neither mail nor webhooks"),
        ({"mail": {"host": "x", "sender": "a@b", "recipients": []}}, "recipients: needs at least one address"),
        ({"webhooks": [{"format": "slack"}]}, "needs either url or url_file"),
        ({"owners": [{"stream": "A"}]}, "needs an owner or a team"),
    ],
)  # fmt: skip
def test_wrong_settings_are_one_line_before_the_work(
    rollups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: Any, fault: str
) -> None:
    assert run(rollups, tmp_path / "out", settings, "--send") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("streamgauge report: ")
    assert fault in line
    assert not (tmp_path / "out" / "report-2026-11.html").exists()


def test_the_last_success_is_published_with_the_forecasts(rollups: Path, tmp_path: Path) -> None:
    assert last_report(Root(str(rollups)), None) is None
    textfile = tmp_path / "report.prom"
    assert run(rollups, rollups / "report", {}, "--textfile", str(textfile)) == 0
    found = last_report(Root(str(rollups)), None)
    assert found is not None
    assert found > 1.79e9
    assert last_report(Root(str(tmp_path)), str(rollups / "report")) == found
    assert "streamgauge_report_last_success_timestamp_seconds " in textfile.read_text()


def test_a_report_of_an_old_month_is_no_success_for_the_alert(
    rollups: Path, tmp_path: Path
) -> None:
    later = MADE + timedelta(days=31)  # then the last month is December
    assert run(rollups, tmp_path / "out", {}, made=later) == 0
    assert (tmp_path / "out" / "report-2026-11.html").is_file()
    assert last_report(Root(str(tmp_path)), str(tmp_path / "out")) is None


def test_the_index_lists_all_months_newest_first(tmp_path: Path, bad: Report) -> None:
    root = Root(str(tmp_path))
    october = build_report(healthy(), Month(2026, 10), MADE)
    for report in (bad, october, bad):
        write_index(root, report, {"HTML": f"report-{report.month}.html"})
    page = (tmp_path / "index.html").read_text()
    assert re.findall(r"<b>(\w+ \d+)</b>", page) == ["November 2026", "October 2026"]
    assert 'href="report-2026-10.html"' in page
    assert "<b onclick" not in page


def test_the_page_of_an_owner_has_its_own_actions_and_assets_alone() -> None:
    rules = (OwnerRule(stream="PAY", team="payments"), OwnerRule(team="rest"))
    report = build_report(
        with_everything("PAY"), MONTH, MADE, settings=ReportSettings(owners=rules)
    )
    page = for_owner(report, "payments")
    assert page.title == "Capacity report, November 2026, payments"
    assert page.actions
    assert {each.owner.name for each in page.actions} == {"payments"}
    assert len(page.actions) < len(report.actions)
    for table in page.tables():
        column = [each.key for each in table.identity].index("stream")
        assert {row.values[column] for row in table.rows} == {"PAY"}, table.key
    assert {table.key for table in page.tables()} >= {"consumers"}


@pytest.mark.parametrize("owner", ["", "payments", "platform"])
def test_every_link_of_a_page_leads_to_a_place_on_it(owner: str) -> None:
    rules = (OwnerRule(stream="PAY", team="payments"), OwnerRule(server="PA*", team="platform"))
    report = build_report(
        with_everything("PAY"), MONTH, MADE, settings=ReportSettings(owners=rules)
    )
    page = html_report(for_owner(report, owner) if owner else report, 25, "csv")
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert {"actions", "findings", "consumers" if owner != "platform" else "servers"} <= links
    assert links <= set(re.findall(r' id="([^"]+)"', page))
    assert ("chapter on the method" in page) is (not owner)


def test_the_page_of_an_owner_of_servers_has_their_findings_and_rows() -> None:
    rules = (OwnerRule(server="PA*", team="platform"),)
    report = build_report(
        with_everything("PAY"), MONTH, MADE, settings=ReportSettings(owners=rules)
    )
    page = for_owner(report, "platform")
    assert {each.findings[0].subject.server for each in page.actions} == {"PAY"}
    assert {each.subject.server for each in page.findings} == {"PAY"}
    assert {each.code for each in page.findings} == {"CLK-OFFSET", "SRV-NOT-RESPONDING"}
    assert {table.key for table in page.tables()} >= {"servers", "clocks"}
    (owners,) = [table for table in report.tables() if table.key == "owners"]
    place = [column.key for column in owners.all_columns].index("servers")
    assert {row.values[0]: row.values[place] for row in owners.rows} == {
        "platform": 1,
        "no owner set": 0,
    }


def test_an_unknown_owner_is_an_error_that_lists_the_known(
    rollups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"owners": [{"stream": "*", "team": "shop"}]}
    assert run(rollups, tmp_path / "out", settings, "--owner", "ship") == 2
    assert "--owner ship: unknown; owners are shop" in capsys.readouterr().err


@pytest.mark.program
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_a_pdf_is_printed_and_in_the_index(rollups: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(rollups, out, {}, "--pdf") == 0
    assert (out / "report-2026-11.pdf").read_bytes().startswith(b"%PDF-")
    assert "report-2026-11.pdf" in (out / "index.html").read_text()
