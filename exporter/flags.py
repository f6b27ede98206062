"""The flags of `streamgauge exporter`, each with its key in the file: declared once, here."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from exporter.addresses import without_credentials
from streamgauge.serving.settings import SettingsError

PREFIX = "STREAMGAUGE_"
_SYSTEM = "systems[0]."


@dataclass(frozen=True, slots=True)
class Flag:
    name: str  # without the dashes
    key: str  # of the setting that it overrides, as an error would call it
    metavar: str  # FILE: a path, relative to where the command was given
    help: str
    repeats: bool = False

    @property
    def text(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper().replace("-", "_")

    @property
    def of_system(self) -> bool:
        return self.key.startswith(_SYSTEM)

    @property
    def is_path(self) -> bool:
        return self.metavar == "FILE"

    @property
    def is_switch(self) -> bool:
        return not self.metavar

    def keys(self) -> tuple[str, ...]:
        """The way to the setting, from the system for what belongs to it."""
        return tuple(self.key.removeprefix(_SYSTEM).split("."))


SYSTEM_FLAGS = (
    Flag("nats", _SYSTEM + "urls", "URL", "address, may be given again (default nats://127.0.0.1:4222); with --source monitor http://HOST:8222 of every server", repeats=True),
    Flag("source", _SYSTEM + "source", "account|system|monitor", "how to ask (default account)"),
    Flag("system", _SYSTEM + "name", "NAME", "value of the label system (default nats)"),
    Flag("user", _SYSTEM + "user", "NAME", "user name"),
    Flag("password-file", _SYSTEM + "password_file", "FILE", "file that holds the password"),
    Flag("token-file", _SYSTEM + "token_file", "FILE", "file that holds the token"),
    Flag("creds", _SYSTEM + "creds_file", "FILE", "credentials file"),
    Flag("nkey", _SYSTEM + "nkey_seed_file", "FILE", "file that holds the nkey seed"),
    Flag("tls-ca", _SYSTEM + "tls.ca", "FILE", "authorities that may sign the server's certificate"),
    Flag("tls-cert", _SYSTEM + "tls.cert", "FILE", "client certificate"),
    Flag("tls-key", _SYSTEM + "tls.key", "FILE", "key of the client certificate"),
    Flag("tls-first", _SYSTEM + "tls.first", "", "begin TLS before the server speaks"),
    Flag("inbox-prefix", _SYSTEM + "inbox_prefix", "SUBJECT", "where answers come to, when not _INBOX"),
    Flag("account", _SYSTEM + "account", "NAME", "name to show for the account"),
    Flag("domain", _SYSTEM + "domain", "NAME", "JetStream domain"),
    Flag("exact-lag", _SYSTEM + "exact.lag", "", "read the first unfinished message for its time"),
)  # fmt: skip
SERVING_FLAGS = (
    Flag("listen", "listen", "HOST:PORT", "address to serve at (default 0.0.0.0:7778)"),
    Flag("interval", "interval", "TIME", "time between two polls (default 15s)"),
    Flag("timeout", "timeout", "TIME", "time that one poll may take (default 10s)"),
    Flag("detail", "detail", "core|full", "which metrics (default core)"),
    Flag("web-config", "web_config", "FILE", "TLS and basic auth of the listener"),
    Flag("log-format", "logs.format", "text|json", "how log lines are written (default text)"),
    Flag("log-level", "logs.level", "debug|info|warning|error", "least severity (default info)"),
)
FLAGS = SYSTEM_FLAGS + SERVING_FLAGS
CONFIG_VARIABLE = PREFIX + "CONFIG"


class _Parser(argparse.ArgumentParser):
    """Complains in one line that names the flag, like every other mistake in the settings."""

    def error(self, message: str) -> NoReturn:
        named = re.fullmatch(r"argument (--[a-z-]+)(?:/\S+)?: (.*)", message)
        if named:
            raise SettingsError(named[1], "", named[2])
        raise SettingsError("command line", "", message)


def parser() -> argparse.ArgumentParser:
    made = _Parser(
        prog="streamgauge exporter",
        # An abbreviation that works today would be ambiguous with the next flag.
        allow_abbrev=False,
        add_help=False,  # ours, below: argparse's own words follow the language of the machine
        description="Polls NATS JetStream and serves it to Prometheus at /metrics. Every flag "
        "can also be set by the environment, as STREAMGAUGE_ and its name in capitals "
        "(STREAMGAUGE_NATS takes several addresses with commas between them).",
    )
    for title, flags in (("the NATS system", SYSTEM_FLAGS), ("serving", SERVING_FLAGS)):
        group = made.add_argument_group(title)
        for flag in flags:
            _add(group, flag)
    made.add_argument("-h", "--help", action="help", help="show this help and exit")
    made.add_argument("--config", metavar="FILE", help="settings file (YAML)")
    made.add_argument(
        "--once", action="store_true", help="poll once, print the exposition, exit 0 or 1"
    )
    return made


def parse(argv: Sequence[str]) -> dict[str, Any]:
    """By the flag's name; what was not given is None."""
    made = parser()
    known, unknown = made.parse_known_args(argv)
    for word in unknown:
        shown = without_credentials(word.partition("=")[0])
        raise SettingsError(shown, "", _unknown_reason(made, word))
    return {name.replace("_", "-"): value for name, value in vars(known).items()}


def _add(group: argparse._ArgumentGroup, flag: Flag) -> None:
    if flag.is_switch:
        group.add_argument(flag.text, action="store_const", const=True, help=flag.help)
    else:
        action = "append" if flag.repeats else "store"
        group.add_argument(flag.text, action=action, metavar=flag.metavar, help=flag.help)


def _unknown_reason(made: argparse.ArgumentParser, word: str) -> str:
    if not word.startswith("-"):
        return "is not a flag (settings are given as --flag value)"
    known = [text for action in made._actions for text in action.option_strings]  # noqa: SLF001  no public list
    near = difflib.get_close_matches(word.partition("=")[0], known, n=1)
    return f"unknown flag (did you mean {near[0]}?)" if near else "unknown flag (see --help)"
