"""The command line of `streamgauge top`. Imports the standard library only."""

from __future__ import annotations

import argparse

from exporter.settings.flags import SYSTEM_FLAGS, add_flags, add_help_and_config, empty_parser

INTERVAL_SECONDS = 5.0
_DESCRIPTION = (
    "Shows what is unwell in JetStream, gravest first, until you press Ctrl-C. Reads a running "
    "exporter (--url), or polls NATS itself. Exit code of --once: 0 nothing, 1 a warning, 2 "
    "something critical, 3 no usable response."
)


def parser() -> argparse.ArgumentParser:
    made = empty_parser("streamgauge top", _DESCRIPTION)
    group = made.add_argument_group("what to show")
    group.add_argument("--url", metavar="URL", help="address of an exporter, like http://HOST:7778; --user, --password-file and --tls-ca then apply to it")  # fmt: skip
    group.add_argument("--every", metavar="TIME", help="time between two refreshes (default 5s)")
    group.add_argument("--once", action="store_const", const=True, help="print one table and exit")
    add_flags(made, "the NATS system", SYSTEM_FLAGS)
    add_help_and_config(made)
    return made
