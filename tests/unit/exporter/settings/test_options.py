"""File, environment and flags: who wins, and who is named when something is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from exporter.main import main
from exporter.metric import Level
from exporter.settings.config import ExporterSettings
from exporter.settings.flags import FLAGS
from exporter.settings.options import read_options, setting_variables
from streamgauge.serving.logs import LogLevel
from streamgauge.serving.settings.loader import Secret, SettingsError
from streamgauge.serving.settings.reference import render_reference

TWO_SYSTEMS = "systems: [{name: a}, {name: b}]"

# Flags, variables, the line. No file is given.
ERRORS: Mapping[str, tuple[list[str], dict[str, str], str]] = {
    "a duration in a flag": (
        ["--interval", "5x"],
        {},
        '--interval: "5x" is not a duration (write it like 15s or 1m30s)',
    ),
    "a duration in a variable": (
        [],
        {"STREAMGAUGE_INTERVAL": "5x"},
        'environment: STREAMGAUGE_INTERVAL: "5x" is not a duration (write it like 15s or 1m30s)',
    ),
    "an address for another source": (
        ["--source", "monitor", "--nats", "nats://a:4222"],
        {},
        '--nats: "nats://a:4222" is not an address for source monitor'
        " (write HOST:PORT, http://HOST:PORT or https://HOST:PORT)",
    ),
    "one address of several in a variable": (
        [],
        {"STREAMGAUGE_NATS": "nats://a:4222, http://me:geheim@b:8222"},
        'environment: STREAMGAUGE_NATS: "http://b:8222" is not an address for source account'
        " (write HOST:PORT, nats://HOST:PORT or tls://HOST:PORT)",
    ),
    "a source that is none": (
        ["--source", "leaf"],
        {},
        '--source: "leaf" is not one of account, system, monitor',
    ),
    "two login methods": (
        ["--user", "u", "--creds", "app.creds"],
        {},
        "--creds: is given together with user: choose one",
    ),
    "two login methods from two places": (
        ["--user", "u"],
        {"STREAMGAUGE_TOKEN": "geheim"},
        "environment: STREAMGAUGE_TOKEN: is given together with user: choose one",
    ),
    "a password without a user": (
        [],
        {"STREAMGAUGE_PASSWORD": "geheim"},
        "--user: is missing, but a password is given",
    ),
    "a file that is not there": (
        ["--creds", "/none/app.creds"],
        {},
        "--creds: /none/app.creds cannot be read: No such file or directory",
    ),
    "a web configuration that is not there": (
        [],
        {"STREAMGAUGE_WEB_CONFIG_FILE": "/none/web.yml"},
        "environment: STREAMGAUGE_WEB_CONFIG_FILE:"
        " /none/web.yml cannot be read: No such file or directory",
    ),
    "an address to listen at without a port": (
        ["--web.listen-address", "localhost"],
        {},
        '--web.listen-address: "localhost" is no address (write HOST:PORT)',
    ),
    "an empty flag": (
        ["--web.listen-address", ""],
        {},
        '--web.listen-address: "" is no address (write HOST:PORT)',
    ),
    "an empty path": (["--creds", ""], {}, '--creds: "" is not a path'),
    "an empty variable": (
        [],
        {"STREAMGAUGE_USER": ""},
        "environment: STREAMGAUGE_USER: is empty (unset it to get the default)",
    ),
    "an empty secret": (
        [],
        {"STREAMGAUGE_PASSWORD": ""},
        "environment: STREAMGAUGE_PASSWORD: is empty (unset it to get the default)",
    ),
    "a level of the log": (
        ["--log.level", "loud"],
        {},
        '--log.level: "loud" is not one of debug, info, warning, error',
    ),
    "a truth that is none": (
        [],
        {"STREAMGAUGE_TLS_FIRST": "yes"},
        'environment: STREAMGAUGE_TLS_FIRST: "yes" is not true or false',
    ),
    "a variable without a flag": (
        [],
        {"STREAMGAUGE_MAX_SERIES": "0"},
        "environment: STREAMGAUGE_MAX_SERIES: 0 is too small (at least 1)",
    ),
    "a misspelt variable": (
        [],
        {"STREAMGAUGE_NAT": "nats://a:4222"},
        "environment: STREAMGAUGE_NAT: unknown variable (did you mean STREAMGAUGE_NATS?)",
    ),
    "a variable like no other": (
        [],
        {"STREAMGAUGE_QWERTZ": "geheim"},
        "environment: STREAMGAUGE_QWERTZ: unknown variable",
    ),
    "a setting that a variable cannot hold": (
        [],
        {"STREAMGAUGE_INCLUDE_METRICS": "a,b"},
        "environment: STREAMGAUGE_INCLUDE_METRICS: holds more than one value: write it in the file",
    ),
    "a misspelt flag": (
        ["--intervall", "5s"],
        {},
        "--intervall: unknown flag (did you mean --interval?)",
    ),
    "an abbreviated flag": (
        ["--inter", "5s"],
        {},
        "--inter: unknown flag (did you mean --interval?)",
    ),
    "a password as a flag": (
        ["--password=geheim"],
        {},
        "--password: unknown flag (did you mean --password-file?)",
    ),
    "a flag like no other": (["-x"], {}, "-x: unknown flag (see --help)"),
    "a flag without its value": (["--nats"], {}, "--nats: expected one argument"),
    "a word that is no flag": (
        ["nats://me:geheim@a:4222"],
        {},
        "argument 1: is not a flag (settings are given as --flag value)",
    ),
    "an empty file name": (["--config", ""], {}, "--config: is empty, a file was expected"),
}


def loaded(
    *flags: str, environ: Mapping[str, str] | None = None, file: Path | None = None
) -> ExporterSettings:
    config = ["--config", str(file)] if file else []
    return read_options([*config, *flags], environ or {}).load()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with other values than the defaults."""
    path = tmp_path / "exporter.yml"
    path.write_text(
        "interval: 20s\ntimeout: 2s\nlog: {level: warning, format: json}\n"
        "systems: [{name: file, urls: [nats://file:4222], account: FILE, tls: {first: true}}]\n"
    )
    return path


@pytest.mark.parametrize(("argv", "environ", "line"), ERRORS.values(), ids=ERRORS.keys())
def test_a_configuration_error_is_one_line_that_names_its_place(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    argv: list[str],
    environ: dict[str, str],
    line: str,
) -> None:
    for name in [name for name in os.environ if name.startswith("STREAMGAUGE_")]:
        monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert main(argv) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"streamgauge: {line}\n")
    assert "geheim" not in printed.err


def test_flags_win_over_variables_and_variables_over_the_file(file: Path) -> None:
    environ = {"STREAMGAUGE_INTERVAL": "30s", "STREAMGAUGE_TIMEOUT": "3s"}
    assert loaded(file=file).interval == 20.0
    assert loaded(file=file, environ=environ).interval == 30.0
    settings = loaded("--interval", "40s", file=file, environ=environ)
    assert (settings.interval, settings.timeout) == (40.0, 3.0)


def test_flags_and_variables_change_only_what_they_name(file: Path) -> None:
    environ = {"STREAMGAUGE_LOG_LEVEL": "debug", "STREAMGAUGE_SYSTEM": "variable"}
    settings = loaded("--nats", "nats://flag:4222", file=file, environ=environ)
    (system,) = settings.systems
    assert (settings.log.level, settings.log.format.value) == (LogLevel.DEBUG, "json")
    assert (system.name, system.urls, system.account) == (
        "variable",
        ("nats://flag:4222",),
        "FILE",
    )
    assert system.tls is not None
    assert system.tls.first


def test_a_variable_can_switch_off_what_the_file_switched_on(file: Path) -> None:
    (system,) = loaded(file=file, environ={"STREAMGAUGE_TLS_FIRST": "False"}).systems
    assert system.tls is not None
    assert not system.tls.first


def test_no_file_is_needed() -> None:
    assert loaded() == ExporterSettings()
    (system,) = loaded("--nats", "nats://a:4222", "--nats", "nats://b:4222").systems
    assert (system.label, system.urls) == ("nats", ("nats://a:4222", "nats://b:4222"))


# What Kubernetes sets in every pod of the namespace where a service is called streamgauge, or begins so.
SERVICE_LINKS = {
    "STREAMGAUGE_PORT": "tcp://10.0.0.7:7778",
    "STREAMGAUGE_PORT_7778_TCP": "tcp://10.0.0.7:7778",
    "STREAMGAUGE_PORT_7778_TCP_ADDR": "10.0.0.7",
    "STREAMGAUGE_SERVICE_HOST": "10.0.0.7",
    "STREAMGAUGE_SERVICE_PORT": "7778",
    "STREAMGAUGE_SERVICE_PORT_METRICS": "7778",
    "STREAMGAUGE_EXPORTER_SERVICE_HOST": "10.0.0.8",
}


@pytest.mark.parametrize("name", SERVICE_LINKS)
def test_service_variables_of_kubernetes_are_ignored(name: str) -> None:
    printed = {name: SERVICE_LINKS[name]}
    assert loaded("--nats", "nats://a:4222", environ=printed) == loaded("--nats", "nats://a:4222")


def test_several_addresses_fit_into_one_variable() -> None:
    (system,) = loaded(environ={"STREAMGAUGE_NATS": "nats://a:4222, nats://b:4222"}).systems
    assert system.urls == ("nats://a:4222", "nats://b:4222")


def test_the_file_can_be_named_by_a_variable_and_a_flag_wins(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yml"
    other.write_text("interval: 50s")
    environ = {"STREAMGAUGE_CONFIG": str(other)}
    assert loaded(environ=environ).interval == 50.0
    assert loaded(file=file, environ=environ).interval == 20.0


def test_secrets_come_by_the_environment() -> None:
    environ = {"STREAMGAUGE_USER": "u", "STREAMGAUGE_PASSWORD": "geheim"}
    options = read_options(["--nats", "nats://a:4222"], environ)
    (system,) = options.load().systems
    assert system.password == Secret("geheim")
    for text in (repr(options), repr(options.load())):
        assert "geheim" not in text


def test_options_do_not_show_the_password_in_an_address() -> None:
    options = read_options(["--nats", "nats://me:geheim@a:4222"], {})
    assert options.load().systems[0].urls == ("nats://me:geheim@a:4222",)
    assert "geheim" not in repr(options)


@pytest.mark.parametrize(
    ("flags", "environ", "named"),
    [
        (("--nats", "nats://x:4222"), {}, "--nats"),
        ((), {"STREAMGAUGE_USER": "u"}, "environment: STREAMGAUGE_USER"),
    ],
)
def test_what_describes_a_system_needs_a_file_with_only_one(
    tmp_path: Path, flags: tuple[str, ...], environ: dict[str, str], named: str
) -> None:
    file = tmp_path / "exporter.yml"
    file.write_text(TWO_SYSTEMS)
    with pytest.raises(SettingsError) as caught:
        loaded(*flags, file=file, environ=environ)
    assert str(caught.value) == f"{named}: is ambiguous: {file} has 2 systems"
    assert len(loaded("--interval", "5s", file=file).systems) == 2


def test_an_invalid_list_of_systems_is_an_error_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "exporter.yml"
    file.write_text("systems: [nats://a:4222]")
    with pytest.raises(SettingsError) as caught:
        loaded("--user", "u", file=file)
    assert str(caught.value) == (
        f'{file}: systems[0]: "nats://a:4222" is not a mapping (write it as key: value)'
    )


def test_an_error_of_the_file_names_the_file(file: Path) -> None:
    file.write_text("interval: 5x")
    with pytest.raises(SettingsError) as caught:
        loaded("--timeout", "5s", file=file)
    assert str(caught.value).startswith(f'{file}: interval: "5x"')


def test_a_path_in_a_flag_is_relative_to_where_the_command_was_given(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "app.creds").touch()
    (elsewhere / "ca.pem").touch()
    monkeypatch.chdir(elsewhere)
    settings = loaded("--creds", "app.creds", file=file, environ={"STREAMGAUGE_TLS_CA": "ca.pem"})
    (system,) = settings.systems
    assert system.creds_file == elsewhere / "app.creds"
    assert system.tls is not None
    assert system.tls.ca == elsewhere / "ca.pem"


def test_the_file_is_read_again_each_time(file: Path) -> None:
    options = read_options(["--config", str(file)], {})
    assert options.load().detail is Level.CORE
    file.write_text("detail: full")
    assert options.load().detail is Level.FULL


def test_the_source_of_the_settings_is_known_for_the_status_page(file: Path) -> None:
    assert read_options(["--config", str(file)], {}).source == str(file)
    assert read_options([], {}).source == "flags and defaults"


def test_variables_of_other_programs_are_left_alone() -> None:
    environ = {"STREAMGAUGE_CACHE": "/tmp/x", "STREAMGAUGE_PORT": "tcp://10.0.0.1:80", "HOME": "/"}
    assert loaded(environ=environ) == ExporterSettings()


def test_every_flag_leads_to_a_setting_and_has_a_variable() -> None:
    reference, known = render_reference(ExporterSettings), setting_variables()
    for flag in FLAGS:
        assert f"| `{flag.key.replace('[0]', '[]')}` |" in reference
        assert known[flag.variable] == flag.key


def test_help_is_printed_and_is_not_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert all(flag.text in printed for flag in FLAGS)
