"""Parses command line arguments, and formats times and sizes."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime

from archive.tools.errors import ToolError
from streamgauge.serving.settings.durations import parse_duration

TIME_HELP = "2026-01-31, 2026-01-31T12:00 (UTC without an offset) or seconds since 1970"


def add_place(parser: ArgumentParser) -> None:
    parser.add_argument(
        "place", metavar="DIR", help="the data folder, or an address like s3://bucket/prefix"
    )
    parser.add_argument("--wal", metavar="FOLDER", help="the log folder, if it is not DIR/wal")


def add_span(parser: ArgumentParser) -> None:
    parser.add_argument("--from", dest="since", metavar="TIME", help=f"first time: {TIME_HELP}")
    parser.add_argument("--to", dest="until", metavar="TIME", help="last time, not included")


def milliseconds(text: str, flag: str) -> int:
    try:
        return round(float(text) * 1000)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ToolError(f"{flag}: {text!r} is no time (write {TIME_HELP})") from error
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return round(found.timestamp() * 1000)


def span(since: str | None, until: str | None, default: tuple[int, int]) -> tuple[int, int]:
    """Start and exclusive end in milliseconds."""
    first = default[0] if since is None else milliseconds(since, "--from")
    end = default[1] if until is None else milliseconds(until, "--to")
    if end <= first:
        raise ToolError(f"--to: {until or moment(end)} is not after {since or moment(first)}")
    return first, end


def duration_ms(text: str, flag: str) -> int:
    try:
        return round(parse_duration(text) * 1000)
    except ValueError as error:
        raise ToolError(f"{flag}: {text!r} is no duration (write it like 5m or 1h)") from error


def moment(time: int) -> str:
    return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d %H:%M}"


def bytes_text(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
