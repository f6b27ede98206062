"""Settings of the archive from file, environment and flags, and the origin in errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archive.http.auth import BearerTokens
from archive.main import main
from archive.settings.config import (
    DEFAULT_LISTEN_ADDRESS,
    ArchiveSettings,
)
from archive.settings.flags import FLAGS, PREFIX, parser
from archive.settings.options import read_options
from streamgauge.serving.settings.loader import SettingsError
from streamgauge.serving.settings.server import host_and_port, is_loopback


def load(*argv: str, **environ: str) -> ArchiveSettings:
    variables = {PREFIX + name: text for name, text in environ.items()}
    return read_options(argv, variables).load()


def configuration_error(*argv: str, **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(*argv, **environ)
    return str(caught.value)


def written(folder: Path, text: str) -> str:
    path = folder / "archive.yml"
    path.write_text(text)
    return str(path)


def test_a_folder_is_all_it_needs(tmp_path: Path) -> None:
    settings = load("--data", str(tmp_path))
    assert settings.data == tmp_path
    assert settings.web.listen_address == DEFAULT_LISTEN_ADDRESS == "127.0.0.1:7779"
    assert settings.replica_label == "__replica__"
    assert settings.limits.future == 600
    assert settings.web.config_file is None


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        'data: here\nweb: {listen_address: "127.0.0.1:1"}\nlimits: {series: 1}\nlog: {level: error}\n',
    )
    settings = load("--config", file, "--web.listen-address", "127.0.0.1:3", WEB_LISTEN_ADDRESS="127.0.0.1:2",
                    LOG_LEVEL="debug", LIMITS__SERIES="7", QUARANTINE__SIZE="1MiB")  # fmt: skip
    assert settings.web.listen_address == "127.0.0.1:3"
    assert settings.log.level == "debug"
    assert settings.limits.series == 7
    assert settings.quarantine.size == 1 << 20


def test_paths_in_the_file_are_relative_to_it_and_flags_to_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    file = written(
        tmp_path,
        "data: here\nweb: {config_file: web.yml}\nbearer_tokens: {eu: eu.token, us: /us.token}\n",
    )
    settings = load("--config", file)
    assert settings.data == tmp_path / "here"
    assert settings.web.config_file == tmp_path / "web.yml"
    assert settings.bearer_tokens == {"eu": tmp_path / "eu.token", "us": Path("/us.token")}
    assert load("--config", file, "--data", "there").data == Path("/there")


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    assert load(CONFIG=written(tmp_path, "data: here\n")).data == tmp_path / "here"


@pytest.mark.parametrize(
    ("argv", "environ", "expected"),
    [
        ((), {}, "--data: is missing, and it has no default"),
        (("--dat", "x"), {}, "--dat: unknown flag (did you mean --data?)"),
        (("serve",), {}, "argument 1: is not a flag (settings are given as --flag value)"),
        (("--data",), {}, "--data: expected one argument"),
        (("--data", "x", "--web.listen-address", "7779"), {}, '--web.listen-address: "7779" is no address (write HOST:PORT)'),
        (("--data", "x"), {"WEB_LISTEN_ADDRESS": "a:b"}, 'environment: STREAMGAUGE_ARCHIVE_WEB_LISTEN_ADDRESS: "a:b" is no address (write HOST:PORT)'),
        (("--data", "x"), {"WEB_LISTEN_ADDRESS": ""}, "environment: STREAMGAUGE_ARCHIVE_WEB_LISTEN_ADDRESS: is empty (unset it to get the default)"),
        (("--data", "x"), {"LIMITS__BODY": "1"}, 'environment: STREAMGAUGE_ARCHIVE_LIMITS__BODY: "1" is not a size (write it like 64MiB or 512KiB)'),
        (("--data", "x"), {"LIMIT__BODY": "1"}, "environment: STREAMGAUGE_ARCHIVE_LIMIT__BODY: unknown variable (did you mean STREAMGAUGE_ARCHIVE_LIMITS__BODY?)"),
        (("--data", "x", "--log.level", "loud"), {}, '--log.level: "loud" is not one of debug, info, warning, error'),
    ],
)  # fmt: skip
def test_a_configuration_error_names_the_flag_or_the_variable(
    argv: tuple[str, ...], environ: dict[str, str], expected: str
) -> None:
    assert configuration_error(*argv, **environ) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dta: x\n", "dta: unknown key (did you mean data?)"),
        ("data: x\nlimits: {serie: 1}\n", "limits.serie: unknown key (did you mean series?)"),
        ("data: x\nlimits: {series: 0}\n", "limits.series: 0 is too small (at least 1)"),
        ("data: x\nlimits: {future: 10}\n", "limits.future: 10 is not a duration (write it like 15s or 1m30s)"),
        ("data: x\nbearer_tokens: {'': x}\n", "bearer_tokens: a sender has no name"),
        ("data: x\nreplica_label: __name__\n", "replica_label: __name__ is the name of the metric"),
        ("web: {listen_address: 'x:1'}\n", "data: is missing, and it has no default"),
    ],
)  # fmt: skip
def test_a_configuration_error_names_the_file_and_the_key(
    tmp_path: Path, text: str, expected: str
) -> None:
    file = written(tmp_path, text)
    assert configuration_error("--config", file) == f"{file}: {expected}"


def test_the_help_names_every_flag() -> None:
    text = parser().format_help()
    assert all(flag.text in text for flag in FLAGS)


def test_the_example_of_the_document_loads(tmp_path: Path) -> None:
    document = (Path(__file__).parents[3] / "docs" / "archive.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)
    (example,) = [each for each in examples if each.startswith("data:")]
    settings = load("--config", written(tmp_path, example))
    assert settings.limits == ArchiveSettings(data=tmp_path).limits, "it shows the defaults"
    assert set(settings.bearer_tokens) == {"frankfurt", "virginia"}
    assert settings.publish.retention.age == 730 * 86_400


@pytest.mark.parametrize(
    ("text", "host", "port", "only_here"),
    [
        ("127.0.0.1:7779", "127.0.0.1", 7779, True),
        ("localhost:1", "localhost", 1, True),
        ("[::1]:1", "::1", 1, True),
        (":7779", "0.0.0.0", 7779, False),  # noqa: S104
        ("[::]:7779", "::", 7779, False),
        ("archive.example.net:7779", "archive.example.net", 7779, False),
    ],
)
def test_addresses(text: str, host: str, port: int, *, only_here: bool) -> None:
    assert host_and_port(text) == (host, port)
    assert is_loopback(text) is only_here


def test_the_tools_are_reached_by_their_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.startswith("streamgauge: ")


# --- bearer tokens --------------------------------------------------------------------------------


def tokens_in(folder: Path, **tokens: str) -> dict[str, Path]:
    for name, token in tokens.items():
        (folder / name).write_text(f"{token}\n")
    return {name: folder / name for name in tokens}


def test_a_token_names_its_sender(tmp_path: Path) -> None:
    tokens = BearerTokens(tokens_in(tmp_path, eu="secret-1", us="secret-2"))
    assert tokens.sender_of("Bearer secret-1") == "eu"
    assert tokens.sender_of("bearer  secret-2") == "us"
    for wrong in ("Bearer secret-3", "Bearer", "Basic secret-1", "secret-1", "", None, "Bearer ü"):
        assert tokens.sender_of(wrong) is None


def test_a_token_may_be_renewed_while_it_runs_and_a_faulty_file_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = tokens_in(tmp_path, eu="old")
    tokens = BearerTokens(files)
    files["eu"].write_text("new")
    tokens.reload()
    assert (tokens.sender_of("Bearer old"), tokens.sender_of("Bearer new")) == (None, "eu")
    files["eu"].write_text("")
    tokens.reload()
    tokens.reload()
    assert tokens.sender_of("Bearer new") == "eu"
    assert [each.levelname for each in caplog.records] == ["ERROR"]


def test_equal_or_unreadable_tokens_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="two senders have the same token"):
        BearerTokens(tokens_in(tmp_path, eu="same", us="same"))
    with pytest.raises(SettingsError, match="cannot be read"):
        BearerTokens({"eu": tmp_path / "missing"})
