"""Forgets series without samples: in the caches, in memory and in the log's series table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from archive.series.live import LIVE_MILLISECONDS
from archive.settings.publishing import RetentionSettings
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)

_DEFAULT_SECONDS: Final = 7 * 86_400.0
_DAY: Final = 86_400_000


class Log(Protocol):
    @property
    def oldest(self) -> int | None: ...

    def idle_series(self, before: int, now: int) -> list[int]: ...

    def forget(self, ids: Sequence[int]) -> None: ...


def idle_seconds(settings: RetentionSettings) -> float:
    """As long as samples are kept. The log forgets without loss, so never is no default."""
    return settings.series or settings.age or _DEFAULT_SECONDS


class IdleSeries:
    """Times in milliseconds."""

    def __init__(self, log: Log, settings: RetentionSettings, clear: Callable[[], None]) -> None:
        """`clear` empties the caches that refer to the series table."""
        self.forgotten = 0
        """Since the start."""
        self._log = log
        self._idle = round(idle_seconds(settings) * 1000)
        self._clear = clear
        self._ran = self._started = self._saved = -_DAY

    def forget(self, now: int) -> None:
        """Blocks; call it while no request is decoded. Raises WalUnavailableError."""
        if not 0 <= now - self._ran < _DAY:  # the first time, or the clock was set
            self._started = self._saved = now
        self._ran = now
        if not self._is_settled(now):
            return
        ids = self._log.idle_series(now - self._idle, now)
        if ids or now - self._saved >= _DAY:
            if ids:
                self._clear()
            self._log.forget(ids)
            self._saved = now
            self.forgotten += len(ids)
            event(logger, logging.INFO, "forgot series without samples", series=len(ids))

    def _is_settled(self, now: int) -> bool:
        """Whether every live series was seen since the start, and the log has none from before.

        Times from before the start are old: they are saved once a day. A clock that was set is a
        new start.
        """
        oldest = self._log.oldest
        is_published = oldest is None or oldest >= self._started
        return is_published and now - self._started >= LIVE_MILLISECONDS
