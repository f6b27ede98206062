"""Links to boards: to Grafana where it runs, else to the exporter's page of the same asset. Pure."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

_STREAM: Final = ("system", "account", "stream")
_CONSUMER: Final = (*_STREAM, "consumer")
_PAGES: Final = {
    "sg-consumer": ("consumer", _CONSUMER),
    "sg-stream": ("stream", _STREAM),
    "sg-publish": ("stream", _STREAM),
}


def board_target(uid: str, query: Mapping[str, str], grafana: str | None, exporter: str) -> str:
    """`query` holds the variables of the board, as a link of an alert sets them."""
    if grafana is not None:
        return f"{grafana}/d/{uid}?{urlencode(query)}"
    page, names = _PAGES.get(uid, ("", ()))
    chosen = {name: query.get(f"var-{name}", "") for name in names}
    if not page or not all(chosen.values()):
        return f"{exporter}/"
    return f"{exporter}/{page}?{urlencode(chosen)}"


def asset_board(labels: Mapping[str, str]) -> str:
    """The board of the asset that an alert is about, on the demo's own address."""
    if not all(labels.get(name) for name in _STREAM):
        return "/d/sg-fleet"
    names = _CONSUMER if labels.get("consumer") else _STREAM
    chosen = {f"var-{name}": labels[name] for name in names}
    return f"/d/sg-{'consumer' if names == _CONSUMER else 'stream'}?{urlencode(chosen)}"
