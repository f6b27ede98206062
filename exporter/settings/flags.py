"""The flags of `streamgauge exporter`, each with its key in the file: declared once, here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exporter.settings.addresses import without_credentials
from streamgauge.serving.settings import flags
from streamgauge.serving.settings.flags import add_flags, add_help_and_config, empty_parser
from streamgauge.serving.settings.server import log_flags, web_flags

PREFIX = "STREAMGAUGE_"
_SYSTEM = "systems[0]."


@dataclass(frozen=True, slots=True)
class Flag(flags.Flag):
    @property
    def of_system(self) -> bool:
        return self.key.startswith(_SYSTEM)

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
    *web_flags(Flag, "0.0.0.0:7778"),
    Flag("interval", "interval", "TIME", "time between two polls (default 15s)"),
    Flag("timeout", "timeout", "TIME", "time that one poll may take (default 10s)"),
    Flag("detail", "detail", "core|full", "which metrics (default core)"),
    Flag("forecasts", "forecasts", "FILE", "file with the rollups' forecasts, served too"),
    *log_flags(Flag),
)
FLAGS = SYSTEM_FLAGS + SERVING_FLAGS
CONFIG_VARIABLE = PREFIX + "CONFIG"
__all__ = [
    "CONFIG_VARIABLE",
    "FLAGS",
    "PREFIX",
    "SERVING_FLAGS",
    "SYSTEM_FLAGS",
    "Flag",
    "add_flags",
    "add_help_and_config",
    "empty_parser",
    "parse",
    "parser",
]


def parser() -> argparse.ArgumentParser:
    made = empty_parser(
        "streamgauge exporter",
        "Polls NATS JetStream and serves it to Prometheus at /metrics. Every flag "
        "can also be set by the environment, as STREAMGAUGE_ and its name in capitals "
        "(STREAMGAUGE_NATS takes several addresses with commas between them).",
    )
    add_flags(made, "the NATS system", SYSTEM_FLAGS)
    add_flags(made, "serving", SERVING_FLAGS)
    add_help_and_config(made)
    made.add_argument(
        "--once", action="store_true", help="poll once, print the exposition, exit 0 or 1"
    )
    return made


def parse(argv: Sequence[str], made: argparse.ArgumentParser) -> dict[str, Any]:
    """By the flag's name; what was not given is None."""
    return flags.parse(argv, made, without_credentials)
