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
    add("--month", required=True, metavar="YYYY-MM", help="the month, in UTC")
    add("--out", required=True, metavar="DIR", help="output folder or URL")
    add("--config", metavar="FILE", help="settings: owners, mail, webhooks")
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
