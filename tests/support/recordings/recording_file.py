"""The file format of recordings: requests, and the bytes of their responses.

Responses are JSON values where that loses nothing, so that a diff shows a change.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

WIDTH: Final = 140
# Go writes these characters of a text as escapes.
_GO_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


@dataclass(frozen=True)
class RecordedReply:
    """One reply; `text` is decompressed even if the headers say gzip."""

    text: str
    headers: Mapping[str, str]
    round_trip: float
    status: int = 0  # of HTTP; NATS has none


@dataclass(frozen=True)
class RecordedError:
    """Why a request had no reply: a reason of the catalogue, and the detail."""

    reason: str
    detail: str


@dataclass(frozen=True)
class Exchange:
    """One request and its replies; equal requests have equal texts."""

    request: str
    sent: float
    replies: tuple[RecordedReply, ...] = ()
    error: RecordedError | None = None

    @property
    def ended(self) -> float:
        return self.sent + max((reply.round_trip for reply in self.replies), default=0.0)


@dataclass
class RecordingFile:
    """All requests of one source in one scenario."""

    about: dict[str, Any]  # where, when and how it was recorded
    server_info: dict[str, Any] = field(default_factory=dict)  # of the connected server
    exchanges: dict[str, Exchange] = field(default_factory=dict)

    def keep(self, exchange: Exchange) -> None:
        """Keeps the first of two equal requests, as a scenario is one point in time."""
        self.exchanges.setdefault(exchange.request, exchange)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The HTTP addresses of the requests."""
        urls = [request.split("/", 3) for request in self.exchanges if request.startswith("GET ")]
        return tuple(dict.fromkeys("/".join(parts[:3]).removeprefix("GET ") for parts in urls))

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        value = {
            "_recorded": self.about,
            "server_info": self.server_info,
            "exchanges": [_exchange_value(each) for each in self.exchanges.values()],
        }
        path.write_text(pretty(value) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "RecordingFile":
        value = json.loads(path.read_text(encoding="utf-8"))
        file = cls(value["_recorded"], value["server_info"])
        for each in value["exchanges"]:
            file.keep(_exchange(each))
        return file


def nats_request(subject: str, payload: bytes) -> str:
    return f"{subject} {payload.decode()}".rstrip()


def http_request(address: str, path: str, query: Mapping[str, str]) -> str:
    parameters = "&".join(f"{name}={value}" for name, value in query.items())
    return f"GET {address}/{path}" + (f"?{parameters}" if parameters else "")


def _exchange_value(exchange: Exchange) -> dict[str, Any]:
    value: dict[str, Any] = {"request": exchange.request, "sent": round(exchange.sent, 6)}
    if exchange.error is not None:
        return value | {"error": vars(exchange.error)}
    return value | {"replies": [_reply_value(reply) for reply in exchange.replies]}


def _exchange(value: Mapping[str, Any]) -> Exchange:
    error = RecordedError(**value["error"]) if "error" in value else None
    replies = tuple(_reply(each) for each in value.get("replies", ()))
    return Exchange(value["request"], value["sent"], replies, error)


def _reply_value(reply: RecordedReply) -> dict[str, Any]:
    value: dict[str, Any] = {"round_trip": round(reply.round_trip, 6)}
    if reply.status:
        value["status"] = reply.status
    if reply.headers:
        value["headers"] = dict(reply.headers)
    return value | _body_value(reply.text)


def _reply(value: Mapping[str, Any]) -> RecordedReply:
    text = value["text"] if "text" in value else _LAYOUTS[value["layout"]](value["body"])
    headers, status = value.get("headers", {}), value.get("status", 0)
    return RecordedReply(text, headers, value["round_trip"], status)


def _body_value(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except json.JSONDecodeError:
        return {"text": text}
    for layout, write in _LAYOUTS.items():
        if write(body) == text:
            return {"layout": layout, "body": body}
    return {"text": text}


def _compact(body: Any) -> str:
    return _as_go_writes(json.dumps(body, separators=(",", ":"), ensure_ascii=False))


def _indented(body: Any) -> str:
    return _as_go_writes(json.dumps(body, indent=2, ensure_ascii=False))


def _as_go_writes(text: str) -> str:
    for character, escape in _GO_ESCAPES.items():
        text = text.replace(character, escape)
    return text


_LAYOUTS: Final = {"compact": _compact, "indented": _indented}


def pretty(value: Any, depth: int = 0) -> str:
    """JSON with every value on one line if it fits."""
    short = json.dumps(value, ensure_ascii=False)
    if len(short) + depth <= WIDTH or not isinstance(value, dict | list) or not value:
        return short
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    inside = (",\n" + " " * (depth + 1)).join(_members(value, depth + 1))
    return f"{opening}\n{' ' * (depth + 1)}{inside}\n{' ' * depth}{closing}"


def _members(value: dict[str, Any] | list[Any], depth: int) -> Iterator[str]:
    if isinstance(value, list):
        yield from (pretty(each, depth) for each in value)
        return
    for name, each in value.items():
        key = json.dumps(name, ensure_ascii=False)
        yield f"{key}: {pretty(each, depth)}"
