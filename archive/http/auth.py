"""Who may come in: users of the web configuration file, and senders with a bearer token."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from archive.ingest.receiver import SENDER
from streamgauge.serving.logs import StateLog
from streamgauge.serving.settings.loader import Secret, SettingsError, read_secret
from streamgauge.serving.web.basic_auth import credentials
from streamgauge.serving.web.live_config import LiveWebConfig

logger = logging.getLogger(__name__)

_CHALLENGE = 'Bearer realm="streamgauge"'


class BearerTokens:
    """The tokens by the name of their sender; the files are followed."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """Reads the files: blocks, and raises SettingsError."""
        self._files = files
        self._tokens = _read(files)
        self._states = StateLog(logger)

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def sender_of(self, header: str | None) -> str | None:
        """Whose token an Authorization header carries."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        given, found = token.strip().encode(), None
        # All of them are compared, so that the time tells nothing.
        for name, secret in self._tokens.items():
            if hmac.compare_digest(given, secret.reveal().encode()):
                found = name
        return found

    def reload(self) -> None:
        """Reads the files again; a faulty one leaves the old tokens in force and is logged."""
        try:
            tokens = _read(self._files)
        except SettingsError as error:
            self._states.report("files", str(error), logging.ERROR, "bearer tokens kept as they were",
                                reason=str(error))  # fmt: skip
            return
        if tokens != self._tokens:
            self._states.report("files", "", logging.INFO, "bearer tokens read again")
        self._states.forget("files")
        self._tokens = tokens


def protect(app: web.Application, web_config: LiveWebConfig, tokens: BearerTokens) -> None:
    """TLS' headers and users by the web configuration; a token is as good as a user."""
    web_config.protect(app)
    users_only = app.middlewares.pop(0)
    app.middlewares.insert(0, _door(users_only, web_config, tokens))


def sender_at_once(
    web_config: LiveWebConfig, tokens: BearerTokens, header: str | None
) -> str | None:
    """The sender's name by its token, "" where anybody may come in, None when it takes a closer look.

    A password takes one: it is compared with its hash, in a thread.
    """
    sender = tokens.sender_of(header) if tokens else None
    if sender is not None:
        return sender
    return None if tokens or web_config.current.users else ""


def _door(users_only: Middleware, web_config: LiveWebConfig, tokens: BearerTokens) -> Middleware:
    @web.middleware
    async def let_in(request: web.Request, handler: Handler) -> web.StreamResponse:
        header = request.headers.get("Authorization")
        sender = tokens.sender_of(header) if tokens else None
        if sender is not None:
            request[SENDER] = sender
            return await handler(request)
        if web_config.current.users:
            user = credentials(header)
            if user is not None:
                request[SENDER] = user[0]  # looked at only behind the door
            return await users_only(request, handler)
        if tokens:
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": _CHALLENGE})
        return await handler(request)

    return let_in


def _read(files: Mapping[str, Path]) -> dict[str, Secret]:
    tokens = {name: Secret(read_secret(path)) for name, path in files.items()}
    if len({token.reveal() for token in tokens.values()}) < len(tokens):
        raise SettingsError("bearer_tokens", "", "two senders have the same token")
    return tokens
