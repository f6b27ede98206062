"""Flags and environment of `streamgauge exporter`, laid over the file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exporter.config import ExporterSettings, SystemSettings
from streamgauge.serving.settings import (
    SettingsError,
    build,
    environment_overrides,
    load_yaml,
    merge,
)

# Flags of the one system that flags describe, and the keys of its settings.
_SYSTEM_FLAGS = {
    "system": "name", "source": "source", "nats": "urls", "user": "user",
    "password_file": "password_file", "token_file": "token_file", "creds": "creds_file",
    "nkey": "nkey_seed_file", "account": "account", "domain": "domain",
}  # fmt: skip
_TLS_FLAGS = {"tls_ca": "ca", "tls_cert": "cert", "tls_key": "key", "tls_first": "first"}
_TOP_FLAGS = {
    "listen": "listen", "interval": "interval", "timeout": "timeout", "detail": "detail",
    "web_config": "web_config",
}  # fmt: skip
_LOG_FLAGS = {"log_format": "format", "log_level": "level"}
# A password may come by the environment, but never by a flag: every user of the machine sees flags.
_SECRET_VARIABLES = {"STREAMGAUGE_PASSWORD": "password", "STREAMGAUGE_TOKEN": "token"}
_PREFIX = "STREAMGAUGE_"


def variable(flag: str) -> str:
    return _PREFIX + flag.upper()


SYSTEM_VARIABLES = {variable(flag): flag for flag in (*_SYSTEM_FLAGS, *_TLS_FLAGS)}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="streamgauge exporter",
        description="Polls NATS JetStream and serves it to Prometheus at /metrics. Every flag "
        "can also be set by the environment, as STREAMGAUGE_ and its name in capitals.",
    )
    system = made.add_argument_group("the NATS system")
    system.add_argument("--nats", action="append", metavar="URL",
        help="address; may be given again (default nats://127.0.0.1:4222; http://HOST:8222 with --source monitor)")  # fmt: skip
    system.add_argument(
        "--source", metavar="account|system|monitor", help="how to ask (default account)"
    )
    system.add_argument("--system", metavar="NAME", help="value of the label system (default nats)")
    system.add_argument("--user", metavar="NAME", help="user name")
    system.add_argument("--password-file", metavar="FILE", help="file that holds the password")
    system.add_argument("--token-file", metavar="FILE", help="file that holds the token")
    system.add_argument("--creds", metavar="FILE", help="credentials file")
    system.add_argument("--nkey", metavar="FILE", help="file that holds the nkey seed")
    system.add_argument(
        "--tls-ca", metavar="FILE", help="authorities that may sign the server's certificate"
    )
    system.add_argument("--tls-cert", metavar="FILE", help="client certificate")
    system.add_argument("--tls-key", metavar="FILE", help="key of the client certificate")
    system.add_argument(
        "--tls-first", action="store_const", const=True, help="begin TLS before the server speaks"
    )
    system.add_argument("--account", metavar="NAME", help="name to show for the account")
    system.add_argument("--domain", metavar="NAME", help="JetStream domain")
    serve = made.add_argument_group("serving")
    serve.add_argument(
        "--listen", metavar="HOST:PORT", help="address to serve at (default 0.0.0.0:7778)"
    )
    serve.add_argument("--interval", metavar="TIME", help="time between two polls (default 15s)")
    serve.add_argument(
        "--timeout", metavar="TIME", help="time that one poll may take (default 10s)"
    )
    serve.add_argument("--detail", metavar="core|full", help="which metrics (default core)")
    serve.add_argument("--web-config", metavar="FILE", help="TLS and basic auth of the listener")
    serve.add_argument("--log-format", metavar="text|json")
    serve.add_argument("--log-level", metavar="debug|info|warning|error")
    made.add_argument("--config", metavar="FILE", help="settings file (YAML)")
    made.add_argument(
        "--once", action="store_true", help="poll once, print the exposition, exit 0 or 1"
    )
    return made


@dataclass(frozen=True, slots=True)
class Options:
    """What was said on the command line and in the environment; the file is read again on reload."""

    config: Path | None
    once: bool
    flags: Mapping[str, Any]
    environ: Mapping[str, str]

    @property
    def source(self) -> str:
        """For the status page: where the settings come from."""
        return str(self.config) if self.config else "flags and defaults"

    def load(self) -> ExporterSettings:
        """Reads the file, so it blocks; raises SettingsError."""
        file = load_yaml(self.config) if self.config else {}
        where = str(self.config) if self.config else "flags"
        known = (*SYSTEM_VARIABLES, *_SECRET_VARIABLES, variable("config"), variable("cache"))
        environment = environment_overrides(ExporterSettings, self.environ, other=known)
        said = merge(file, environment, self._top_flags())
        described = self._described_system()
        if described:
            said = merge(said, {"systems": [merge(_only_system(said, where), described)]})
        return _beside_file(build(ExporterSettings, said, where), self.config)

    def _top_flags(self) -> dict[str, object]:
        said: dict[str, object] = {
            key: self.flags[flag] for flag, key in _TOP_FLAGS.items() if self.flags.get(flag)
        }
        logs = {key: self.flags[flag] for flag, key in _LOG_FLAGS.items() if self.flags.get(flag)}
        return said | ({"logs": logs} if logs else {})

    def _described_system(self) -> dict[str, object]:
        words = self._from_environment() | {
            flag: value for flag, value in self.flags.items() if value is not None
        }
        system: dict[str, object] = {
            key: words[flag] for flag, key in _SYSTEM_FLAGS.items() if flag in words
        }
        tls = {key: words[flag] for flag, key in _TLS_FLAGS.items() if flag in words}
        if tls:
            system["tls"] = tls
        for name, key in _SECRET_VARIABLES.items():
            if self.environ.get(name):
                system[key] = self.environ[name]
        return system

    def _from_environment(self) -> dict[str, object]:
        words: dict[str, object] = {}
        for name, flag in SYSTEM_VARIABLES.items():
            text = self.environ.get(name)
            if text:
                words[flag] = text
        if "nats" in words:
            words["nats"] = [url.strip() for url in str(words["nats"]).split(",")]
        if "tls_first" in words:
            words["tls_first"] = str(words["tls_first"]).lower() == "true"
        return words


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    flags = vars(parser().parse_args(argv))
    config = flags.pop("config") or environ.get(variable("config"))
    return Options(Path(config) if config else None, flags.pop("once"), flags, environ)


def _only_system(said: Mapping[str, object], where: str) -> Mapping[str, object]:
    systems = said.get("systems")
    if not systems:
        return {}
    if not isinstance(systems, list) or len(systems) != 1 or not isinstance(systems[0], Mapping):
        reason = "has several systems: a flag cannot tell which one it means"
        raise SettingsError(where, "systems", reason)
    return systems[0]


def _beside_file(settings: ExporterSettings, config: Path | None) -> ExporterSettings:
    """Relative paths in a file are relative to that file, wherever the exporter was started."""
    if config is None:
        return settings
    folder = config.parent
    systems = tuple(_system_beside(system, folder) for system in settings.systems)
    web = settings.web_config
    return replace(settings, systems=systems, web_config=folder / web if web else None)


def _system_beside(system: SystemSettings, folder: Path) -> SystemSettings:
    names = ("password_file", "token_file", "nkey_seed_file", "creds_file")
    moved = {name: folder / path for name in names if (path := getattr(system, name)) is not None}
    tls = system.tls
    if tls is not None:
        paths = {n: folder / p for n in ("ca", "cert", "key") if (p := getattr(tls, n)) is not None}
        tls = replace(tls, **paths)
    return replace(system, tls=tls, **moved)
