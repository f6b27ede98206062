"""The flags of `streamgauge exporter`, each with its key in the settings file."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

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
        """The path of keys to the setting, relative to the system for settings of a system."""
        return tuple(self.key.removeprefix(_SYSTEM).split("."))


SYSTEM_FLAGS = (
    Flag("nats", _SYSTEM + "urls", "URL", "address of a NATS server, repeatable (default nats://127.0.0.1:4222); with --source monitor http://HOST:8222 of every server", repeats=True),
    Flag("source", _SYSTEM + "source", "account|system|monitor", "how to fetch the data (default account)"),
    Flag("system", _SYSTEM + "name", "NAME", "value of the label system (default: JetStream domain, else cluster name, else nats)"),
    Flag("user", _SYSTEM + "user", "NAME", "user name"),
    Flag("password-file", _SYSTEM + "password_file", "FILE", "file with the password"),
    Flag("token-file", _SYSTEM + "token_file", "FILE", "file with the token"),
    Flag("creds", _SYSTEM + "creds_file", "FILE", "credentials file"),
    Flag("nkey", _SYSTEM + "nkey_seed_file", "FILE", "file with the nkey seed"),
    Flag("tls-ca", _SYSTEM + "tls.ca", "FILE", "CA certificates for the server's certificate"),
    Flag("tls-cert", _SYSTEM + "tls.cert", "FILE", "client certificate"),
    Flag("tls-key", _SYSTEM + "tls.key", "FILE", "key of the client certificate"),
    Flag("tls-first", _SYSTEM + "tls.first", "", "TLS handshake first, before the INFO of the server"),
    Flag("inbox-prefix", _SYSTEM + "inbox_prefix", "SUBJECT", "prefix of reply subjects (default _INBOX)"),
    Flag("account", _SYSTEM + "account", "NAME", "value of the label account"),
    Flag("domain", _SYSTEM + "domain", "NAME", "JetStream domain"),
    Flag("exact-lag", _SYSTEM + "exact.lag", "", "fetch the first unacked message for its timestamp"),
)  # fmt: skip
SERVING_FLAGS = (
    *web_flags(Flag, "0.0.0.0:7778"),
    Flag("interval", "interval", "TIME", "time between two polls (default 15s)"),
    Flag("timeout", "timeout", "TIME", "timeout of one poll (default 10s)"),
    Flag("detail", "detail", "core|full", "level of metrics (default core)"),
    Flag("forecasts", "forecasts", "FILE", "file with forecasts of the rollups to serve"),
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
    "parser",
]


def parser() -> argparse.ArgumentParser:
    made = empty_parser(
        "streamgauge exporter",
        "Polls NATS JetStream and serves metrics to Prometheus. Environment variables set the "
        "same as flags: STREAMGAUGE_ and the name in capitals, dots and dashes as underscores "
        "(STREAMGAUGE_NATS takes several addresses, separated by commas).",
    )
    add_flags(made, "the NATS system", SYSTEM_FLAGS)
    add_flags(made, "serving", SERVING_FLAGS)
    add_help_and_config(made)
    made.add_argument(
        "--once", action="store_true", help="poll once, print the exposition, exit 0 or 1"
    )
    return made
