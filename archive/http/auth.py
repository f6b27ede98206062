"""Authentication: users of the web configuration file, and senders with a bearer token."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from streamgauge.serving.logs import StateLog
from streamgauge.serving.settings.loader import Secret, SettingsError, read_secret
from streamgauge.serving.web.basic_auth import credentials
from streamgauge.serving.web.live_config import LiveWebConfig

logger = logging.getLogger(__name__)

SENDER: Final = web.RequestKey("sender", str)
"""Under which the middleware stores the name of the sender."""
_CHALLENGE: Final = 'Bearer realm="streamgauge"'


class BearerTokens:
    """Bearer tokens by the name of their sender; `reload` reads the files again."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """Blocks. Raises SettingsError."""
        self._files = files
        self.current = _read(files)
        self._states = StateLog(logger)

    def __bool__(self) -> bool:
        return bool(self.current)

    def sender_of(self, header: str | None) -> str | None:
        """The sender whose token is in the Authorization header."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        given, found = token.strip().encode(), None
        # Compares all of them, so that the time reveals nothing.
        for name, secret in self.current.items():
            if hmac.compare_digest(given, secret.reveal().encode()):
                found = name
        return found

    def reload(self) -> None:
        """Reads the files again. After an error, which is logged, the old tokens stay valid."""
        try:
            tokens = _read(self._files)
        except SettingsError as error:
            self._states.report("files", str(error), logging.ERROR, "cannot reload bearer tokens, the old ones stay valid",
                                reason=str(error))  # fmt: skip
            return
        if tokens != self.current:
            self._states.report("files", "", logging.INFO, "bearer tokens reloaded")
        self._states.forget("files")
        self.current = tokens


class Access(NamedTuple):
    """Which clients may send what they send; a token grants the same access as a user."""

    web_config: LiveWebConfig
    tokens: BearerTokens

    @property
    def state(self) -> object:
        """Another one after every change: then clients must be authenticated again."""
        return self.web_config.current, self.tokens.current

    @property
    def headers(self) -> Mapping[str, str]:
        """Of every response."""
        return self.web_config.current.headers

    def protect(self, app: web.Application) -> None:
        self.web_config.protect(app)
        users_only = app.middlewares.pop(0)
        app.middlewares.insert(0, _authentication(users_only, self.web_config, self.tokens))


def _authentication(
    users_only: Middleware, web_config: LiveWebConfig, tokens: BearerTokens
) -> Middleware:
    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        header = request.headers.get("Authorization")
        sender = tokens.sender_of(header) if tokens else None
        if sender is not None:
            request[SENDER] = sender
            return await handler(request)
        if web_config.current.users:
            user = credentials(header)
            if user is not None:
                request[SENDER] = user[0]  # used only after authentication
            try:
                return await users_only(request, handler)
            except web.HTTPTooManyRequests as error:
                # A sender drops its data for good on 429, and repeats it on 503.
                raise web.HTTPServiceUnavailable(headers={"Retry-After": "1"}) from error
        if tokens:
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": _CHALLENGE})
        return await handler(request)

    return authenticate


def _read(files: Mapping[str, Path]) -> dict[str, Secret]:
    tokens = {name: Secret(read_secret(path)) for name, path in files.items()}
    if len({token.reveal() for token in tokens.values()}) < len(tokens):
        raise SettingsError("bearer_tokens", "", "two senders have the same token")
    return tokens
