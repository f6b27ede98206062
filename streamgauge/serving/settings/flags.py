"""Flags and environment variables of the commands: declaration and parsing."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from streamgauge.serving.settings.durations import parse_duration
from streamgauge.serving.settings.errors import SettingsError
from streamgauge.serving.version import add_version

ENVIRONMENT = "environment"
"""The place of a variable in an error message."""


@dataclass(frozen=True, slots=True)
class Flag:
    name: str  # without the dashes
    key: str  # of the setting that it overrides, as in an error message
    metavar: str  # FILE or DIR: a path, relative to the working directory
    help: str
    repeats: bool = False
    prefix: str = "STREAMGAUGE_"  # of its variable

    @property
    def text(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return self.prefix + re.sub("[.-]", "_", self.name).upper()

    @property
    def is_path(self) -> bool:
        return self.metavar in ("DIR", "FILE")

    @property
    def is_switch(self) -> bool:
        return not self.metavar

    def from_text(self, text: str) -> object:
        """The value of its variable, as a settings file would hold it."""
        if self.repeats:
            return [part.strip() for part in text.split(",")]
        if self.is_switch:
            return {"true": True, "false": False}.get(text.lower(), text)
        return self.absolute(text)

    def absolute(self, value: object) -> object:
        """A path in a flag is relative to the working directory, not to the settings file."""
        is_one = self.is_path and isinstance(value, str) and value
        return str(Path(str(value)).absolute()) if is_one else value


class FlagParser(argparse.ArgumentParser):
    """Reports an error in one line that names the flag, like every configuration error."""

    def error(self, message: str) -> NoReturn:
        named = re.fullmatch(r"argument (-?-?[\w.-]+)(?:/\S+)?: (.*)", message)
        if named:
            raise SettingsError(named[1], "", _without_choice(named[2]))
        raise SettingsError("command line", "", message)


def _without_choice(reason: str) -> str:
    """A word in the wrong place may be a password: only what is expected is shown."""
    choices = re.fullmatch(r"invalid choice: .* \(choose from (.*)\)", reason, re.DOTALL)
    return f"is none of {choices[1]}" if choices else reason


def empty_parser(prog: str, description: str, epilog: str = "") -> argparse.ArgumentParser:
    return FlagParser(
        prog=prog,
        # A new flag could make an abbreviation ambiguous.
        allow_abbrev=False,
        add_help=False,  # argparse translates its own texts
        description=description,
        epilog=epilog,
    )


def add_help_and_config(made: argparse.ArgumentParser) -> None:
    made.add_argument("-h", "--help", action="help", help="show this help and exit")
    made.add_argument("--config", metavar="FILE", help="settings file (YAML)")
    add_version(made)


def add_flags(made: argparse.ArgumentParser, title: str, flags: Iterable[Flag]) -> None:
    group = made.add_argument_group(title)
    for flag in flags:
        if flag.is_switch:
            group.add_argument(flag.text, action="store_const", const=True, help=flag.help)
        else:
            action = "append" if flag.repeats else "store"
            group.add_argument(flag.text, action=action, metavar=flag.metavar, help=flag.help)


def parse(argv: Sequence[str], made: argparse.ArgumentParser) -> dict[str, Any]:
    """Values by flag name, None where not given."""
    known = vars(parse_arguments(argv, made))
    return {name.replace("_", "-"): value for name, value in known.items()}


def parse_arguments(argv: Sequence[str], made: argparse.ArgumentParser) -> argparse.Namespace:
    """Instead of `parse_args`: an error shows flags only, because other words may be secret."""
    known, unknown = made.parse_known_args(argv)
    for word in unknown:
        flag = re.fullmatch(r"(-[a-zA-Z]|--[a-z.-]+)(?:=.*)?", word, re.DOTALL)
        # Any other word may be a password: its position is enough.
        name = flag[1] if flag else f"argument {list(argv).index(word) + 1}"
        raise SettingsError(name, "", _unknown_reason(_flags(made, argv), word))
    return known


def interval_of(flag: str, text: str) -> float:
    """The seconds of an interval that a flag gives; at least one."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        reason = f'"{text}" is not a duration like 60s or 2m'
        raise SettingsError(flag, "", reason) from error
    if seconds < 1:
        raise SettingsError(flag, "", "is less than a second")
    return seconds


def config_file(given: str | None, environ: Mapping[str, str], variable: str) -> Path | None:
    """The settings file, by the flag `--config` or by this variable."""
    config = variable_text(environ, variable) if given is None else given
    if config == "":
        raise SettingsError("--config", "", "is empty, a file was expected")
    return Path(config) if config else None


def variable_text(environ: Mapping[str, str], name: str) -> str | None:
    text = environ.get(name)
    if text == "":
        raise SettingsError(ENVIRONMENT, name, "is empty (unset it to get the default)")
    return text


def _flags(made: argparse.ArgumentParser, argv: Sequence[str]) -> Iterator[str]:
    """The flags of the parser, and of the commands that are given."""
    for action in made._actions:  # noqa: SLF001  no public list
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name in action.choices.keys() & set(argv):
                yield from _flags(action.choices[name], argv)


def _unknown_reason(known: Iterable[str], word: str) -> str:
    if not word.startswith("-"):
        return "is not a flag (settings are given as --flag value)"
    near = difflib.get_close_matches(word.partition("=")[0], list(known), n=1)
    return f"unknown flag (did you mean {near[0]}?)" if near else "unknown flag (see --help)"
