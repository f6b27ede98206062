"""The web configuration file (TLS, basic auth, headers) in the format of exporter-toolkit."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from streamgauge.serving.settings.builder import build_section
from streamgauge.serving.settings.declaration import declared_settings
from streamgauge.serving.settings.errors import Place
from streamgauge.serving.settings.secret import Secret
from streamgauge.serving.settings.strict_yaml import load_yaml
from streamgauge.serving.web.basic_auth import PasswordCheck, TooManyChecksError, credentials
from streamgauge.serving.web.settings import HeaderSettings, WebSettings
from streamgauge.serving.web.tls_context import certificate_files, server_context

# Once: it evaluates type hints.
_HEADERS = tuple((each.key, each.name) for each in declared_settings(HeaderSettings))
_CHALLENGE = 'Basic realm="streamgauge", charset="UTF-8"'


@dataclass(frozen=True, slots=True, kw_only=True)
class WebConfig:
    """A checked web configuration; without a file, plain HTTP without authentication."""

    file: Path | None = None
    settings: WebSettings = field(default_factory=WebSettings)

    @property
    def users(self) -> Mapping[str, Secret]:
        return self.settings.basic_auth_users

    @property
    def headers(self) -> Mapping[str, str]:
        headers = self.settings.http_server_config.headers
        named = {key: getattr(headers, name) for key, name in _HEADERS}
        return {name: value for name, value in named.items() if value}

    @property
    def uses_tls(self) -> bool:
        return self.settings.tls_server_config is not None

    def ssl_context(self) -> ssl.SSLContext | None:
        """A new context from the certificate files. Blocks."""
        tls = self.settings.tls_server_config
        if tls is None:
            return None
        place = Place(str(self.file), "tls_server_config")
        return server_context(tls, self._directory, place)

    def files(self) -> tuple[Path, ...]:
        """Every file whose change needs a reload."""
        tls = self.settings.tls_server_config
        own = (self.file,) if self.file else ()
        return own + (certificate_files(tls, self._directory) if tls else ())

    @property
    def _directory(self) -> Path:
        return self.file.parent if self.file else Path()


def load_web_config(path: Path) -> WebConfig:
    """Reads and checks the file and its certificates. Blocks."""
    mapping = load_yaml(path)
    place = Place(str(path))
    _reject_unsupported(mapping, place)
    config = WebConfig(file=path, settings=build_section(WebSettings, mapping, place))
    config.ssl_context()  # a wrong certificate is an error now, not at the first connection
    return config


def _reject_unsupported(mapping: Mapping[str, object], place: Place) -> None:
    if "rate_limit" in mapping:
        raise place.child("rate_limit").error("is not supported here (limit in a proxy in front)")
    # An empty section was meant to enable TLS: never fall back to plain HTTP silently.
    if mapping.get("tls_server_config", "") is None:
        raise place.child("tls_server_config").error("is empty (omit it for plain HTTP)")


def basic_auth_middleware(
    get_config: Callable[[], WebConfig], passwords: PasswordCheck | None = None
) -> Middleware:
    """Requires a configured user; without users, every request passes."""
    check = passwords or PasswordCheck()

    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        users = get_config().users
        if users:
            given = credentials(request.headers.get("Authorization"))
            try:
                allowed = given is not None and await check.allows(
                    users, *given, address=request.remote or ""
                )
            except TooManyChecksError as error:
                raise web.HTTPTooManyRequests(headers={"Retry-After": "1"}) from error
            if not allowed:
                raise web.HTTPUnauthorized(headers={"WWW-Authenticate": _CHALLENGE})
        return await handler(request)

    return authenticate


def response_headers(
    get_config: Callable[[], WebConfig],
) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """For `on_response_prepare`, which unlike a middleware also covers errors and streams."""

    async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(get_config().headers)

    return add_headers
