"""`streamgauge COMMAND`: usage, unknown commands, and --help and --version without any extra."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from streamgauge.cli import COMMANDS, OWN_PACKAGES, main
from streamgauge.serving.version import VERSION

ROOT = Path(__file__).parents[3]

# Refuses every third-party module, runs each command line of its input, prints the results as JSON.
WITHOUT_EXTRAS = """
import contextlib, io, json, sys

OWN = set(json.loads(sys.argv[1]))

class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in OWN or top in sys.stdlib_module_names:
            return None
        raise ModuleNotFoundError(f"third-party module {name}", name=name)

sys.meta_path.insert(0, Refuse())
from streamgauge.cli import main

def run(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code
        except Exception as error:
            return [1, "", repr(error)]
    return [code, out.getvalue(), err.getvalue()]

print(json.dumps([run(words) for words in json.loads(sys.argv[2])]))
"""


def command_lines() -> Iterator[list[str]]:
    """Every command and every sub-command."""
    for name, command in COMMANDS.items():
        yield [name]
        for module in filter(None, {command.parser, command.tools}):
            for action in import_module(module).parser()._actions:
                if isinstance(action, argparse._SubParsersAction):
                    yield from ([name, sub] for sub in action.choices)


def test_help_and_version_of_every_command_need_no_extra() -> None:
    lines = list(command_lines())
    assert ["archive", "verify"] in lines
    assert ["demo", "break"] in lines
    commands = [[*words, flag] for words in ([], *lines) for flag in ("--help", "--version")]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, json.dumps(sorted(OWN_PACKAGES)), json.dumps(commands)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    failed = []
    for words, (code, out, err) in zip(commands, json.loads(done.stdout), strict=True):
        expected = " ".join(["usage: streamgauge", *words[:-1]])
        if words[-1] == "--version":
            expected = f"streamgauge {VERSION}\n"
        if code or err or not out.startswith(expected):
            failed.append(f"streamgauge {' '.join(words)}: {out or err}")
    assert not failed, "\n".join(
        ["import heavy modules after the arguments are parsed, see streamgauge/cli.py:", *failed]
    )


def test_every_parser_lists_the_version_flag() -> None:
    for words in command_lines():
        with pytest.raises(SystemExit) as ended:
            _parser(words).parse_args(["--version"])
        assert ended.value.code == 0, words


def _parser(words: list[str]) -> argparse.ArgumentParser:
    command = COMMANDS[words[0]]
    if len(words) == 1:
        parser: argparse.ArgumentParser = import_module(command.parser).parser()
        return parser
    for module in filter(None, (command.parser, command.tools)):
        for action in import_module(module).parser()._actions:
            if isinstance(action, argparse._SubParsersAction) and words[1] in action.choices:
                found: argparse.ArgumentParser = action.choices[words[1]]
                return found
    raise AssertionError(words)


def test_the_usage_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    usage = capsys.readouterr().out
    assert usage.startswith("usage: streamgauge COMMAND ...\n")
    assert all(f"\n  {name} " in usage for name in COMMANDS)


def test_without_a_command_the_usage_is_printed_and_the_exit_code_is_2() -> None:
    assert main([]) == 2


def test_an_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exporters"]) == 2
    assert capsys.readouterr().err.startswith("streamgauge: unknown command 'exporters'\n")


def test_a_flag_error_is_reported_by_the_command_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exporter", "--no-such-flag"]) == 2
    assert capsys.readouterr().err.startswith("streamgauge: --no-such-flag: unknown flag")
