"""The flags of `streamgauge report`. Imports the standard library only."""

from __future__ import annotations

import argparse

from streamgauge.serving.version import add_version

_ROWS = 25
_MOST_ROWS = 1000  # more rows make the page slow


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="streamgauge report",
        description="Writes the monthly capacity report as HTML, CSV and JSON, from the rollups.",
    )
    add_version(made)
    add = made.add_argument
    add(
        "--rollups",
        required=True,
        metavar="PATH",
        help="the rollups that `streamgauge rollup` wrote",
    )
    add("--month", default="last", metavar="YYYY-MM",
        help="the month, in UTC (default: last, the one before today)")  # fmt: skip
    add("--out", required=True, metavar="DIR", help="output folder or URL")
    add("--config", metavar="FILE", help="settings: owners, mail, webhooks")
    add("--owner", default="", metavar="NAME", help="only the assets of this team or owner")
    add("--send", action="store_true", help="send it by the mail and the webhooks of the settings")
    add("--pdf", action="store_true", help="write a PDF too; needs Chromium")
    add("--textfile", metavar="FILE",
        help="write the time of success for the textfile collector, *.prom")  # fmt: skip
    add(
        "--rows", type=_rows, default=_ROWS, metavar="N",
        help="rows per table on the HTML page; CSV and JSON have all (default: %(default)s)",
    )  # fmt: skip
    add(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="assignments",
        help="set a threshold; `streamgauge alerts thresholds` lists them",
    )  # fmt: skip
    return made


def _rows(written: str) -> int:
    if not written.isdecimal() or not 1 <= int(written) <= _MOST_ROWS:
        raise argparse.ArgumentTypeError(f"{written}: not a number from 1 to {_MOST_ROWS}")
    return int(written)
