"""Structs of SUBSZ, CONNZ and IPQUEUESZ, and the request over NATS and HTTP."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec import Struct, field

from exporter.sources.decoding.wire import Signed
from exporter.sources.decoding.wire_servers import WireServer, WireSystemError

# Never pages: the server walks all subscriptions for each page. The ceiling bounds the response.
_ALL_ROWS = 100_000_000


class WireSubscription(Struct, gc=False):
    account: str = ""  # of the connection; in operator mode its public key
    subject: str = ""
    qgroup: str = ""
    sid: str = ""
    msgs: Signed = 0
    cid: Signed = 0


class WireSubsz(Struct, gc=False):
    num_subscriptions: Signed = 0  # in a cluster including those of other servers
    subscriptions_list: list[WireSubscription] | None = None


class WireSubszResponse(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    data: WireSubsz | None = None
    error: WireSystemError | None = None


class WireConnz(Struct, gc=False):
    num_connections: Signed = 0


class WireConnzResponse(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    data: WireConnz | None = None
    error: WireSystemError | None = None


class WireQueuesResponse(Struct, gc=False):
    """IPQUEUESZ lists the non-empty queues; only their names are used."""

    data: dict[str, msgspec.Raw] | None = None
    error: WireSystemError | None = None


@dataclass(frozen=True, slots=True)
class SubszRequest:
    """The number of subscriptions, or with `rows` the list; of one account or of all."""

    account: str = ""
    rows: bool = False

    def payload(self) -> bytes:
        request: dict[str, bool | int | str] = {"account": self.account} if self.account else {}
        if self.rows:
            request |= {"subscriptions": True, "limit": _ALL_ROWS}
        return msgspec.json.encode(request)

    def query(self) -> dict[str, str]:
        query = {"acc": self.account} if self.account else {}
        if self.rows:
            query |= {"subs": "1", "limit": str(_ALL_ROWS)}
        return query
