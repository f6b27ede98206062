"""Flags and their variables, and errors in one line."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from streamgauge.serving.settings.flags import (
    Flag,
    add_flags,
    add_help_and_config,
    config_file,
    empty_parser,
    parse,
)
from streamgauge.serving.settings.loader import SettingsError

FLAGS = (
    Flag("web.config.file", "web.config_file", "FILE", "a file"),
    Flag("nats", "urls", "URL", "an address", repeats=True),
    Flag("tls-first", "tls.first", "", "a switch"),
    Flag("data", "data", "DIR", "a folder", prefix="OTHER_"),
)


def parser() -> argparse.ArgumentParser:
    made = empty_parser("streamgauge test", "Tests.")
    add_flags(made, "of the test", FLAGS)
    add_help_and_config(made)
    return made


def error_of(*argv: str) -> str:
    with pytest.raises(SettingsError) as caught:
        parse(argv, parser())
    return str(caught.value)


def test_a_variable_is_the_prefix_and_the_name_in_capitals() -> None:
    expected = [
        "STREAMGAUGE_WEB_CONFIG_FILE",
        "STREAMGAUGE_NATS",
        "STREAMGAUGE_TLS_FIRST",
        "OTHER_DATA",
    ]
    assert [flag.variable for flag in FLAGS] == expected


def test_what_was_given_is_found_by_the_name_of_its_flag() -> None:
    given = parse(["--nats", "a", "--tls-first", "--nats", "b", "--config", "c"], parser())
    assert given == {
        "web.config.file": None, "nats": ["a", "b"], "tls-first": True, "data": None, "config": "c",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--dat", "x"], "--dat: unknown flag (did you mean --data?)"),
        (["--zzzzzz"], "--zzzzzz: unknown flag (see --help)"),
        (
            ["--data", "x", "secret=1"],
            "argument 3: is not a flag (settings are given as --flag value)",
        ),
        (["-phunter2"], "argument 1: unknown flag (see --help)"),
        (["--passwort=hunter2"], "--passwort: unknown flag (see --help)"),
        (["--data"], "--data: expected one argument"),
        (["--tls-first=1"], "--tls-first: ignored explicit argument '1'"),
    ],
)
def test_an_error_is_one_line_that_names_the_flag(argv: list[str], message: str) -> None:
    assert error_of(*argv) == message


def test_a_path_of_the_command_line_is_relative_to_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = [flag.absolute("x") for flag in FLAGS]
    assert made == [str(tmp_path / "x"), "x", "x", str(tmp_path / "x")]
    assert [FLAGS[0].absolute(value) for value in ("", True, "/y")] == ["", True, "/y"]


def test_the_settings_file_is_named_by_flag_or_variable_and_never_by_nothing() -> None:
    environ = {"CONFIG": "from-environment", "EMPTY": ""}
    assert config_file("flag", environ, "CONFIG") == Path("flag")
    assert config_file(None, environ, "CONFIG") == Path("from-environment")
    assert config_file(None, {}, "CONFIG") is None
    for given, variable, message in (("", "CONFIG", "--config: is empty"), (None, "EMPTY", "EMPTY: is")):  # fmt: skip
        with pytest.raises(SettingsError, match=message):
            config_file(given, environ, variable)
