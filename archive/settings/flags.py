"""The flags of `streamgauge archive`, each with its key in the settings file."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Final

from streamgauge.serving.settings.flags import Flag, add_flags, add_help_and_config, empty_parser
from streamgauge.serving.settings.server import log_flags, web_flags

# Not STREAMGAUGE_ alone: the exporter may run beside the archive, with its own WEB_LISTEN_ADDRESS.
PREFIX: Final = "STREAMGAUGE_ARCHIVE_"
CONFIG_VARIABLE: Final = PREFIX + "CONFIG"
_Flag = partial(Flag, prefix=PREFIX)

FLAGS: Final[tuple[Flag, ...]] = (
    _Flag("data", "data", "DIR", "directory of the write-ahead log and the archive"),
    *web_flags(_Flag, "127.0.0.1:7779"),
    *log_flags(_Flag),
)


def parser() -> argparse.ArgumentParser:
    made = empty_parser(
        "streamgauge archive",
        "Receives Prometheus remote write at /api/v1/write and keeps every acknowledged sample in "
        "Delta tables. Environment variables set the same as flags: "
        f"{PREFIX} and the name in capitals, dots and dashes as underscores.",
        "streamgauge archive inspect|verify|import|export|compact --help: work on an archive.",
    )
    add_flags(made, "serving", FLAGS)
    add_help_and_config(made)
    return made
