"""Renders the pages by templates, and allows exactly their style and script."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from exporter.pages.status.level import Level
from exporter.pages.status.sparkline import HEIGHT, WIDTH
from exporter.pages.status.wording import ago, count, listed, span
from streamgauge.serving.version import VERSION

_CREDENTIALS = re.compile(r"//\S*@")
_ICON_COLOUR = {Level.OK: "#1d7a43", Level.WARNING: "#b26a00", Level.CRITICAL: "#c0261f"}
_SOURCES = {"account": "account API", "system": "system account", "monitor": "HTTP monitoring"}


def _asset(name: str) -> str:
    """Called at import: a request must not read the disk in the event loop."""
    return files("exporter.pages").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


_STYLE = _asset("page.css") + _asset("reference.css")
_SCRIPT = _asset("page.js")


def _policy(*more: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(_STYLE)}",
            *more,
            "img-src data:",  # the icon
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


# The value of the header Content-Security-Policy.
STATUS_POLICY: Final = _policy(f"script-src {_hash(_SCRIPT)}", "form-action 'self'")
DOCS_POLICY: Final = _policy("form-action 'none'")


def render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("exporter.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "ago": ago,
        "clock": lambda at: f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}",
        "count": count,
        "free": lambda text: _CREDENTIALS.sub("//", text),  # no credentials of URLs
        "iso": lambda at: datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"),
        "level": lambda level: Level(level).word,
        "listed": listed,
        "moment": _moment,
        "source": lambda name: _SOURCES[name],
        "span": span,
        "symbol": lambda level: Level(level).symbol,
    }
    made.globals |= {
        "version": VERSION,
        # Files of this package.
        "style": Markup(_STYLE),  # noqa: S704
        "script": Markup(_SCRIPT),  # noqa: S704
        "icon": _icon,
        "chart": {"width": WIDTH, "height": HEIGHT},
    }
    return made


def _moment(at: float, now: float) -> str:
    """The time of day, with the day where it is another one."""
    moment, today = datetime.fromtimestamp(at, UTC), datetime.fromtimestamp(now, UTC)
    if moment.date() == today.date():
        return f"{moment:%H:%M} UTC"
    return f"{moment:%d %b %H:%M} UTC"


def _icon(level: Level) -> str:
    drawing = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
        f"<circle cx='8' cy='8' r='8' fill='{_ICON_COLOUR[level]}'/>"
        "<path d='M3.5 10a4.5 4.5 0 0 1 9 0M8 10l2-3' fill='none' stroke='#fff' "
        "stroke-width='1.6' stroke-linecap='round'/></svg>"
    )
    return "data:image/svg+xml," + quote(drawing)
