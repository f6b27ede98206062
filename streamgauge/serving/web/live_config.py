"""A web configuration that follows its file and its certificates while the server runs."""

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
    """What belongs together; replaced as one, so that no connection sees half of a change."""

    config: WebConfig
    context: ssl.SSLContext | None
    fingerprint: Fingerprint


class FollowingContext(ssl.SSLContext):
    """Given to the server once; each new connection is wrapped by the context of that moment.

    It has no certificate of its own: whatever went around `wrap_bio` could not connect.
    """

    _current: Callable[[], ssl.SSLContext]

    def __new__(cls, _current: Callable[[], ssl.SSLContext]) -> FollowingContext:
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, current: Callable[[], ssl.SSLContext]) -> None:
        self._current = current

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        return self._current().wrap_bio(*args, **kwargs)


class LiveWebConfig:
    """The configuration in force. A faulty new one is reported and the old one stays."""

    def __init__(self, path: Path | None = None, *, check_every: float = 1.0) -> None:
        """Loads the file: blocks, and raises SettingsError. No file is plain HTTP for all."""
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
        """Make the application obey: before every other middleware, and as long as it runs."""
        app.middlewares.insert(0, basic_auth_middleware(lambda: self.current, self.passwords))
        app.on_response_prepare.append(response_headers(lambda: self.current))
        app.cleanup_ctx.append(self._watched)

    def reload(self) -> None:
        """Read everything again. Blocks; raises SettingsError and keeps the old one then."""
        with self._reloading:
            new = _load(self._path)
            if new.config.uses_tls != self.current.uses_tls:
                reason = "switching TLS on or off takes a restart"
                raise SettingsError(str(self._path), "tls_server_config", reason)
            self._loaded = new
            self._states.forget("file")  # the same fault, should it come back, is news again

    def reload_if_changed(self) -> bool:
        """Tell whether a new configuration is in force. Blocks; logs a faulty one once."""
        if _fingerprint(self.current) == self._loaded.fingerprint:
            return False
        try:
            self.reload()
        except (SettingsError, OSError) as error:
            reason = str(error)
            self._states.report(
                "file", reason, logging.ERROR, "web configuration kept as it was", reason=reason
            )
            return False
        self._states.report("file", "ok", logging.INFO, "web configuration reloaded")
        return True

    async def watch(self) -> None:
        """Follow the files for ever; in a thread, because a disk may take its time."""
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
        if context is None:  # cannot be: reload refuses to switch TLS off
            raise RuntimeError("no TLS context")
        return context


def _load(path: Path | None) -> _Loaded:
    if path is None:
        return _Loaded(WebConfig(), None, ())
    # Each mark is taken before its file is read: a change in between is seen at the next look.
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
    # The change time too: a copy that keeps the old modification time must not go unseen.
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
