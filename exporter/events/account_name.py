"""The name of the account of an events connection, requested from the server."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from exporter.errors import RequestError
from exporter.events.state import EventState
from exporter.sources.decoding.decode import read_response, version_numbers
from exporter.sources.decoding.wire_servers import WireUserInfo
from exporter.sources.transport.connection import NatsConnection
from streamgauge.serving.logs import StateLog

logger = logging.getLogger(__name__)

_USER_INFO = "$SYS.REQ.USER.INFO"
_USER_INFO_SINCE = (2, 10)
_USER_INFO_SECONDS = 2.0


@dataclass(slots=True)
class AccountName:
    """Sends the request until it succeeds once."""

    connection: NatsConnection
    state: EventState
    _known: bool = False
    _log: StateLog = field(default_factory=lambda: StateLog(logger))

    async def find(self) -> None:
        if self._known:
            return
        try:
            await self._request()
        except RequestError as error:
            message = "account name of events unknown, set events.account.name"
            self._log.report("name", error.reason, logging.WARNING, message, reason=error.detail)

    async def _request(self) -> None:
        await self.connection.open()
        if version_numbers(str(self.connection.server_info.get("version", ""))) < _USER_INFO_SINCE:
            raise RequestError("no_responders", "servers before 2.10 do not report it")
        reply = await self.connection.request(_USER_INFO, timeout=_USER_INFO_SECONDS)
        user = read_response(WireUserInfo, reply.data, _USER_INFO).data
        if user is not None:
            # Copies for the system account contain the account id, which may differ from the name.
            self.state.name_account(user.account_name or user.account, user.account)
            self._known = True
