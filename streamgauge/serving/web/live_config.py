"""A web configuration that is reloaded when its file or its certificates change."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from streamgauge.serving.logs import StateLog
from streamgauge.serving.settings.errors import SettingsError
from streamgauge.serving.web.basic_auth import PasswordCheck
from streamgauge.serving.web.config import (
    WebConfig,
    basic_auth_middleware,
    load_web_config,
    response_headers,
)

_log = logging.getLogger(__name__)

Mark = tuple[int, int, int, int]
Fingerprint = tuple[Mark | None, ...]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Replaced as a whole, so that no connection sees half of a change."""

    config: WebConfig
    context: ssl.SSLContext | None
    fingerprint: Fingerprint


class FollowingContext(ssl.SSLContext):
    """The server's context; each new connection uses the current real context.

    It has no certificate of its own: a connection that bypasses `wrap_bio` fails.
    """

    _current: Callable[[], ssl.SSLContext]

    def __new__(cls, _current: Callable[[], ssl.SSLContext]) -> FollowingContext:
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, current: Callable[[], ssl.SSLContext]) -> None:
        self._current = current

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        return self._current().wrap_bio(*args, **kwargs)


class LiveWebConfig:
    """The current configuration. A faulty new one is logged, and the old one stays."""

    def __init__(self, path: Path | None = None, *, check_every: float = 1.0) -> None:
        """Loads the file: blocks, and raises SettingsError. Without a file: plain HTTP."""
        self.passwords = PasswordCheck()
        self._path = path
        self._check_every = check_every
        self._states = StateLog(_log)
        self._reloading = threading.Lock()
        self._loaded = _load(path)

    @property
    def current(self) -> WebConfig:
        return self._loaded.config

    def ssl_context(self) -> ssl.SSLContext | None:
        return FollowingContext(self._context_now) if self.current.uses_tls else None

    def protect(self, app: web.Application) -> None:
        """Adds authentication (before every other middleware), headers and the reload to the app."""
        app.middlewares.insert(0, basic_auth_middleware(lambda: self.current, self.passwords))
        app.on_response_prepare.append(response_headers(lambda: self.current))
        app.cleanup_ctx.append(self._watched)

    def reload(self) -> None:
        """Reads all files again. Blocks; raises SettingsError and keeps the old configuration."""
        with self._reloading:
            new = _load(self._path)
            if new.config.uses_tls != self.current.uses_tls:
                reason = "switching TLS on or off needs a restart"
                raise SettingsError(str(self._path), "tls_server_config", reason)
            self._loaded = new
            self._states.forget("file")  # log the same error again if it returns

    def reload_if_changed(self) -> bool:
        """Returns whether it loaded a new configuration. Blocks; logs a faulty one once."""
        if _fingerprint(self.current) == self._loaded.fingerprint:
            return False
        try:
            self.reload()
        except (SettingsError, OSError) as error:
            reason = str(error)
            self._states.report(
                "file",
                reason,
                logging.ERROR,
                "web configuration not reloaded, the old one stays",
                reason=reason,
            )
            return False
        self._states.report("file", "ok", logging.INFO, "web configuration reloaded")
        return True

    async def watch(self) -> None:
        """Checks the files until cancelled; in a thread, because a disk may be slow."""
        while True:
            await asyncio.sleep(self._check_every)
            await asyncio.to_thread(self.reload_if_changed)

    async def _watched(self, _app: web.Application) -> AsyncIterator[None]:
        if self._path is None:
            yield
            return
        watching = asyncio.create_task(self.watch(), name="watch the web configuration")
        yield
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching

    def _context_now(self) -> ssl.SSLContext:
        context = self._loaded.context
        if context is None:  # unreachable: reload rejects switching TLS off
            raise RuntimeError("no TLS context")
        return context


def _load(path: Path | None) -> _Loaded:
    if path is None:
        return _Loaded(WebConfig(), None, ())
    # Fingerprints first: a change while reading is found by the next check.
    own = _mark(path)
    config = load_web_config(path)
    _, *certificates = _fingerprint(config)
    return _Loaded(config, config.ssl_context(), (own, *certificates))


def _fingerprint(config: WebConfig) -> Fingerprint:
    return tuple(_mark(path) for path in config.files())


def _mark(path: Path) -> Mark | None:
    try:
        status = path.stat()
    except OSError:
        return None
    # With the change time: a copy may keep the old modification time.
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
