"""Addresses of the pages of single assets, of runbooks and of boards."""

from __future__ import annotations

from urllib.parse import urlencode

_BOARDS = {"consumer": "sg-consumer", "stream": "sg-stream"}
# As the labels of the series, so that an alert can make the same address.
_NAMES = {
    "consumer": ("account", "stream", "consumer"),
    "stream": ("account", "stream"),
    "server": ("server",),
}


def asset_page(kind: str, system: str, key: tuple[str, ...]) -> str:
    """Relative to the overview, so that it works behind a proxy that adds a path."""
    return f"{kind}?{urlencode({'system': system, **dict(zip(_NAMES[kind], key, strict=True))})}"


def names_of(kind: str) -> tuple[str, ...]:
    return _NAMES[kind]


def board(grafana: str, kind: str, system: str, key: tuple[str, ...]) -> str:
    """Empty where the address of Grafana is not configured."""
    if not grafana:
        return ""
    chosen = {"orgId": "1", "var-system": system}
    if kind in _BOARDS:
        names = zip(_NAMES[kind], key, strict=True)
        chosen |= {f"var-{name}": value for name, value in names}
    return f"{grafana.rstrip('/')}/d/{_BOARDS.get(kind, 'sg-fleet')}?{urlencode(chosen)}"


def runbook(name: str) -> str:
    return f"docs/runbooks/{name}" if name else ""
