"""The flags of `streamgauge audit`, and configuration errors in one line."""

import pytest

from exporter.audit.command.flags import read_request
from exporter.audit.command.main import main
from exporter.audit.command.parser import OutputFormat, parser
from exporter.audit.severity import Severity
from exporter.settings.audit import AuditingSettings
from streamgauge.serving.settings.loader import InvalidSettingError, SettingsError


@pytest.fixture(autouse=True)
def no_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log handler would keep the captured stderr of this test."""
    monkeypatch.setattr("exporter.audit.command.main.configure_logs", lambda *_: None)


def test_without_flags_everything_is_shown_and_warnings_fail() -> None:
    request = read_request([], {})
    assert (request.only, request.skip) == ((), ())
    assert (request.severity, request.fail_on) == (Severity.INFO, Severity.WARN)
    assert (request.format, request.watch, request.rollups) == (OutputFormat.TABLE, None, None)
    (system,) = request.options.load().systems
    assert system.urls == ("nats://127.0.0.1:4222",)


def test_all_flags_are_understood() -> None:
    words = "--only no-ack,no-limits --only max-deliver-one --skip no-limits --severity warn "
    words += "--format json --fail-on never --watch 1m30s --rollups s3://b/p --sample-messages "
    words += "--nats nats://a:1 --source system --timeout 5s"
    request = read_request(words.split(), {})
    assert request.only == ("no-ack", "no-limits", "max-deliver-one")
    assert request.skip == ("no-limits",)
    assert (request.severity, request.fail_on) == (Severity.WARN, None)
    assert (request.format, request.watch) == (OutputFormat.JSON, 90.0)
    assert (request.rollups, request.sample_messages) == ("s3://b/p", True)
    assert request.timeout_given
    settings = request.options.load()
    assert settings.systems[0].source == "system"
    assert settings.timeout == 5.0


def test_the_environment_names_the_system_too() -> None:
    request = read_request([], {"STREAMGAUGE_NATS": "nats://b:2", "STREAMGAUGE_USER": "u"})
    assert request.options.load().systems[0].urls == ("nats://b:2",)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("--only no-akc", '--only: there is no check "no-akc" (did you mean no-ack?)'),
        ("--skip zzzzzz", '--skip: there is no check "zzzzzz" (docs/checks.md lists them)'),
        ("--severity bad", '--severity: "bad" is not one of info, warn, crit'),
        ("--fail-on bad", '--fail-on: "bad" is not one of info, warn, crit, never'),
        ("--format xml", '--format: "xml" is not one of table, json, junit, markdown'),
        ("--watch 60", '--watch: "60" is not a duration like 60s or 2m'),
        ("--watch 10ms", "--watch: is less than a second"),
        ("--rollups=", "--rollups: is empty, give a directory or a URL"),
        ("--web.listen-address :1", "--web.listen-address: unknown flag"),
        ("--watsch 1s", "--watsch: unknown flag (did you mean --watch?)"),
        ("--source unknown", "--source: "),
    ],
)
def test_a_configuration_error_is_one_line_and_exit_code_2(
    words: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"streamgauge: {error}")
    assert err.count("\n") == 1


def test_missing_rollups_are_a_configuration_error(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--rollups", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"streamgauge: --rollups: {tmp_path}: no rollups found; run `streamgauge rollup`\n"
    )


def test_a_mute_in_the_settings_file_must_name_a_check(tmp_path: object) -> None:
    path = f"{tmp_path}/settings.yml"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write("systems:\n  - audit:\n      ignore: [no-akc]\n")
    with pytest.raises(SettingsError, match=r"systems\[0\]\.audit\.ignore\[0\]: .*no-ack"):
        read_request(["--config", path], {}).options.load()


@pytest.mark.parametrize(
    ("place", "good"),
    [("/var/rollups", True), ("s3://bucket/prefix", True), ("rollups", False), ("./x", False)],
)
def test_rollups_of_a_file_begin_at_the_root(place: str, good: bool) -> None:
    if good:
        assert AuditingSettings(rollups=place).rollups == place
        return
    with pytest.raises(InvalidSettingError, match=f"{place} is not an absolute path"):
        AuditingSettings(rollups=place)


def test_the_help_fits_a_terminal() -> None:
    text = parser().format_help()
    assert "--fail-on info|warn|crit|never" in text
    assert "exit" in text.lower()


def test_the_help_offers_every_severity() -> None:
    assert "--severity info|warn|crit" in parser().format_help()
