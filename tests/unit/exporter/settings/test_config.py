"""The exporter's settings file: valid settings, and one line for each error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exporter.main import main
from exporter.metric import Level
from exporter.settings.addresses import without_credentials
from exporter.settings.config import ExporterSettings, SystemSettings
from exporter.settings.options import read_options
from exporter.signals.conditions.limits import DEFAULT_LIMITS
from streamgauge.serving.logs import LogFormat
from streamgauge.serving.settings.loader import Secret, SettingsError
from streamgauge.serving.settings.server import host_and_port

ERRORS = {
    "an unknown key": (
        "intervall: 15s",
        "intervall: unknown key (did you mean interval?)",
    ),
    "an unknown key of a system": (
        "systems: [{url: nats://x:4222}]",
        "systems[0].url: unknown key (did you mean urls?)",
    ),
    "an unknown key like no other": (
        "log: {zzz: 1}",
        "log: line 1: unknown key (known: format, level)",
    ),
    "a duration without a unit": (
        "interval: 15",
        "interval: 15 is not a duration (write it like 15s or 1m30s)",
    ),
    "a threshold that is no ratio": (
        "thresholds: {redelivery_ratio: 10}",
        "thresholds.redelivery_ratio: 10 is not a ratio above 0 and up to 1, like 0.8",
    ),
    "a threshold of the rules": (
        "thresholds: {no_worker: 10m}",
        "thresholds: line 1: unknown key (known: "
        + ", ".join(n for n, _ in DEFAULT_LIMITS.items())
        + ")",
    ),
    "a warning after its page": (
        "thresholds: {stream_filling_ratio: 0.99}",
        "thresholds.stream_filling_ratio: is not below stream_full_ratio",
    ),
    "a duration that is none": (
        "systems: [{timeout: 5x}]",
        'systems[0].timeout: "5x" is not a duration (write it like 15s or 1m30s)',
    ),
    "an interval too short": (
        "interval: 10ms",
        'interval: "10ms" is too small (at least 1s)',
    ),
    "a size that is none": (
        "systems: [{max_response: 64}]",
        "systems[0].max_response: 64 is not a size (write it like 64MiB or 512KiB)",
    ),
    "a source that is none": (
        "systems: [{source: leaf}]",
        'systems[0].source: "leaf" is not one of account, system, monitor',
    ),
    "an HTTP address for NATS": (
        "systems: [{urls: [nats://a:4222, http://b:8222]}]",
        'systems[0].urls[1]: "http://b:8222" is not an address for source account'
        " (write HOST:PORT, nats://HOST:PORT or tls://HOST:PORT)",
    ),
    "a NATS address for HTTP": (
        "systems: [{source: monitor, urls: [nats://a:4222]}]",
        'systems[0].urls[0]: "nats://a:4222" is not an address for source monitor'
        " (write HOST:PORT, http://HOST:PORT or https://HOST:PORT)",
    ),
    "a port without a host": (
        "systems: [{urls: ['4222']}]",
        'systems[0].urls[0]: "4222" is not an address for source account'
        " (write HOST:PORT, nats://HOST:PORT or tls://HOST:PORT)",
    ),
    "an address with an impossible port": (
        "systems: [{urls: [nats://a:70000]}]",
        'systems[0].urls[0]: "nats://a:70000" is not an address for source account'
        " (write HOST:PORT, nats://HOST:PORT or tls://HOST:PORT)",
    ),
    "no address": ("systems: [{urls: []}]", "systems[0].urls: is empty"),
    "no system": ("systems: []", "systems: is empty"),
    "one of two systems without a name": (
        "systems: [{name: a}, {source: system}]",
        "systems[1].name: is empty: of several systems each needs a name",
    ),
    "rollups without a name": (
        "systems: [{audit: {rollups: /rollups}}]",
        "systems[0].audit.rollups: needs name: rollups are by system",
    ),
    "a name for two systems": (
        "systems: [{name: a}, {name: b}, {name: a}]",
        'systems[2].name: "a" is already the name of systems[0]',
    ),
    "two login methods": (
        "systems: [{user: u, password: p, creds_file: c}]",
        "systems[0].creds_file: is given together with user: choose one",
    ),
    "the password twice": (
        "systems: [{user: u, password: p, password_file: f}]",
        "systems[0].password_file: is given together with password: choose one",
    ),
    "a user in the address and beside it": (
        "systems: [{urls: ['nats://me:geheim@a:4222'], user: u, password: p}]",
        "systems[0].urls[0]: contains a user, and user is given too: choose one",
    ),
    "a password without a user": (
        "systems: [{password: geheim}]",
        "systems[0].user: is missing, but a password is given",
    ),
    "a token over HTTP": (
        "systems: [{source: monitor, urls: [http://a:8222], token: geheim}]",
        "systems[0].token: has no effect over HTTP: use user and password",
    ),
    "a password that is not text": (
        "systems: [{user: u, password: 12345}]",
        "systems[0].password: the value (not shown) is not text (put it in quotes)",
    ),
    "a key without a certificate": (
        "systems: [{tls: {key: client.key}}]",
        "systems[0].tls.key: has no effect without cert",
    ),
    "a metric whose name goes on": (
        "include_metrics: [consumer_backlog]",
        'include_metrics[0]: there is no metric "consumer_backlog"'
        " (did you mean streamgauge_consumer_backlog_messages?)",
    ),
    "a misspelt metric": (
        "exclude_metrics: [streamgauge_stream_mesages]",
        'exclude_metrics[0]: there is no metric "streamgauge_stream_mesages"'
        " (did you mean streamgauge_stream_messages?)",
    ),
    "a metric like no other": (
        "include_metrics: [qwertz]",
        'include_metrics[0]: there is no metric "qwertz"',
    ),
    "a metric that cannot be chosen": (
        "exclude_metrics: [consumer_up, streamgauge_up]",
        'exclude_metrics[1]: "streamgauge_up" is not about NATS, so it cannot be chosen here',
    ),
    "a pattern that is none": (
        "systems: [{filters: {streams: {include: '('}}}]",
        'systems[0].filters.streams.include: "(" is not a regular expression:'
        " missing ), unterminated subpattern at position 0",
    ),
    "a telemetry path that is taken": (
        "web: {telemetry_path: /-/healthy}",
        'web.telemetry_path: "/-/healthy" is not a free path (write it like /metrics)',
    ),
    "a telemetry path that is a page": (
        "web: {telemetry_path: /consumers}",
        'web.telemetry_path: "/consumers" is not a free path (write it like /metrics)',
    ),
    "a telemetry path that is the root": (
        "web: {telemetry_path: /}",
        'web.telemetry_path: "/" is not a free path (write it like /metrics)',
    ),
    "an external URL without a scheme": (
        "web: {external_url: example.com/gauge}",
        'web.external_url: "example.com/gauge" is not a URL (write it like https://HOST/PATH)',
    ),
    "an address to listen at without a port": (
        "web: {listen_address: localhost}",
        'web.listen_address: "localhost" is no address (write HOST:PORT)',
    ),
    "a port beyond the last": (
        "web: {listen_address: ':99999'}",
        'web.listen_address: ":99999" is no address (write HOST:PORT)',
    ),
    "a value of the wrong kind": (
        "systems: nats",
        'systems: "nats" is not a list (write each item on a line after a dash)',
    ),
    "a key without a value": (
        "interval:",
        "interval: has no value (omit the key to get its default)",
    ),
    "a key given twice": (
        "detail: core\ndetail: full",
        "detail: is given twice (line 1 and line 2)",
    ),
    "text that is no YAML": (
        "log: {format: text",
        "line 1, column 19: expected ',' or '}', but got '<stream end>'",
    ),
}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user who runs the tests may have settings of their own."""
    for name in list(os.environ):
        if name.startswith("STREAMGAUGE_"):
            monkeypatch.delenv(name)


def loaded(folder: Path, text: str) -> ExporterSettings:
    file = folder / "exporter.yml"
    file.write_text(text)
    return read_options(["--config", str(file)], {}).load()


@pytest.mark.parametrize(("text", "line"), ERRORS.values(), ids=ERRORS.keys())
def test_a_configuration_error_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    file = tmp_path / "exporter.yml"
    file.write_text(text)
    assert main(["--config", str(file), "--once"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"streamgauge: {file}: {line}\n")
    assert "geheim" not in printed.err


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_options(["--config", str(tmp_path / "none.yml")], {}).load()
    assert str(caught.value) == f"{tmp_path}/none.yml: cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("text", "key", "path"),
    [
        ("systems: [{creds_file: none.creds}]", "systems[0].creds_file", "none.creds"),
        ("systems: [{tls: {ca: sub/ca.pem}}]", "systems[0].tls.ca", "sub/ca.pem"),
        ("web: {config_file: web.yml}", "web.config_file", "web.yml"),
    ],
)
def test_a_file_that_the_settings_name_must_be_readable(
    tmp_path: Path, text: str, key: str, path: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        loaded(tmp_path, text)
    reason = f"{tmp_path / path} cannot be read: No such file or directory"
    assert str(caught.value) == f"{tmp_path}/exporter.yml: {key}: {reason}"


@pytest.mark.parametrize("key", ["password_file", "token_file", "nkey_seed_file"])
def test_a_secret_in_place_of_its_file_is_not_shown(tmp_path: Path, key: str) -> None:
    user = "user: u, " if key == "password_file" else ""
    with pytest.raises(SettingsError) as caught:
        loaded(tmp_path, f"systems: [{{{user}{key}: hunter2}}]")
    reason = "the file cannot be read: No such file or directory"
    assert str(caught.value) == f"{tmp_path}/exporter.yml: systems[0].{key}: {reason}"


def test_a_folder_is_no_password_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"password_file: .* cannot be read: Is a directory"):
        loaded(tmp_path, "systems: [{user: u, password_file: .}]")


def test_a_pipe_is_not_read_by_the_check(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pw")  # as a shell makes one of <(a command)
    (system,) = loaded(tmp_path, "systems: [{user: u, password_file: pw}]").systems
    assert system.password_file == tmp_path / "pw"


def test_relative_paths_are_found_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_folder, elsewhere = tmp_path / "etc", tmp_path / "elsewhere"
    settings_folder.mkdir()
    elsewhere.mkdir()
    for name in ("app.creds", "ca.pem", "web.yml"):
        (settings_folder / name).touch()
    monkeypatch.chdir(elsewhere)
    settings = loaded(
        settings_folder,
        "web: {config_file: web.yml}\nsystems: [{creds_file: app.creds, tls: {ca: ./ca.pem}}]",
    )
    (system,) = settings.systems
    assert settings.web.config_file == settings_folder / "web.yml"
    assert system.creds_file == settings_folder / "app.creds"
    assert system.tls is not None
    assert system.tls.ca == settings_folder / "ca.pem"


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "# nothing yet\n")
    assert settings == ExporterSettings()
    assert (settings.web.listen_address, settings.interval, settings.detail) == (
        "0.0.0.0:7778",
        15.0,
        Level.CORE,
    )
    assert [(system.name, system.source, system.urls) for system in settings.systems] == [
        ("", "account", ("nats://127.0.0.1:4222",))
    ]


def test_a_whole_file_is_read_into_typed_settings(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        """
        interval: 1m30s
        log: {format: json}
        include_metrics: [consumer_backlog_messages, streamgauge_consumer_acks_total]
        systems:
          - {name: a, source: system, interval: 5s, max_response: 64MiB}
          - {name: b, source: monitor, urls: ["https://n:8222"], user: u, password: p}
        """,
    )
    first, second = settings.systems
    assert (settings.interval, first.interval, second.interval) == (90.0, 5.0, None)
    assert settings.log.format is LogFormat.JSON
    assert first.max_response == 64 * 1024**2
    assert second.password == Secret("p")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7778", ("127.0.0.1", 7778)),
        (":9", ("0.0.0.0", 9)),  # noqa: S104
        ("[::1]:7778", ("::1", 7778)),
        ("host.example:0", ("host.example", 0)),
    ],
)
def test_addresses_to_listen_at(text: str, address: tuple[str, int]) -> None:
    assert host_and_port(text) == address


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("nats://me:geheim@a:4222", "nats://a:4222"),
        ("nats://geheim@a:4222", "nats://a:4222"),
        ("nats://me:ge@heim@a:4222", "nats://a:4222"),
        ("http://me:geheim//@a", "http://a"),
        ("me:geheim@a:4222", "a:4222"),
        ("nats://a:4222", "nats://a:4222"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_credentials(url) == shown


def test_no_representation_of_the_settings_shows_a_secret() -> None:
    systems = (
        SystemSettings(name="a", urls=("nats://me:geheim@a:4222",)),
        SystemSettings(name="b", user="u", password=Secret("geheim")),
        SystemSettings(name="c", token=Secret("geheim")),
    )
    settings = ExporterSettings(systems=systems)
    assert "nats://a:4222" in repr(settings)
    for text in (repr(settings), str(settings), *map(repr, systems), *map(str, systems)):
        assert "geheim" not in text


def test_an_address_with_a_password_is_refused_without_showing_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        loaded(tmp_path, "systems: [{source: monitor, urls: ['nats://me:geheim@a:4222']}]")
    assert "geheim" not in str(caught.value)
    assert '"nats://a:4222" is not an address' in str(caught.value)


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        (
            "{source: system, events: {publish_ack_tap: {enabled: true}}}",
            "systems[0].events.publish_ack_tap",
            "needs account",
        ),
        ("{events: {account: {user: a}}}", "systems[0].events.account", "has no effect"),
        (
            "{source: monitor, urls: ['http://a:8222'], exact: {lag: true}}",
            "systems[0].exact.lag",
            "needs events.account",
        ),
        (
            "{source: system, events: {account: {user: a, token: t}}}",
            "systems[0].events.account.token",
            "choose one",
        ),
    ],
)
def test_what_events_and_exactness_need_is_named(
    tmp_path: Path, text: str, key: str, reason: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        loaded(tmp_path, f"systems: [{text}]")
    assert caught.value.key == key
    assert reason in caught.value.reason
