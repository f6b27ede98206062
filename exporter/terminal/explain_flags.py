"""The command line of `streamgauge explain`. Imports the standard library only."""

from __future__ import annotations

import argparse

from exporter.settings.flags import SYSTEM_FLAGS, add_flags, add_help_and_config, empty_parser

_DESCRIPTION = (
    "Polls NATS twice and says in words what is wrong with a consumer, since when, why, and what "
    "to run next. Exit code 0: nothing, 1: a warning, 2: something critical, 3: no usable "
    "response or no such consumer."
)


def parser() -> argparse.ArgumentParser:
    made = empty_parser("streamgauge explain", _DESCRIPTION)
    made.add_argument("stream", metavar="STREAM", help="name of the stream")
    made.add_argument("consumer", metavar="CONSUMER", help="name of the consumer")
    made.add_argument("--every", metavar="TIME", help="time between the two polls (default 5s)")
    add_flags(made, "the NATS system", SYSTEM_FLAGS)
    add_help_and_config(made)
    return made
