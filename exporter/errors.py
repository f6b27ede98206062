"""The exceptions of the exporter.

StreamgaugeError
+ RequestError          a request to NATS that brought no usable answer; never ends a poll
  + MalformedAnswerError an answer that is not what a NATS server writes
Mistakes in files and flags are streamgauge.serving.settings.loader.SettingsError.
"""

from __future__ import annotations

from exporter import catalog


class StreamgaugeError(Exception):
    """Anything that the exporter itself raises."""


class RequestError(StreamgaugeError):
    """Why a request has no answer; `reason` is one of catalog.REASONS."""

    def __init__(self, reason: str, detail: str) -> None:
        if reason not in catalog.REASONS:
            raise ValueError(f"{reason} is not one of catalog.REASONS")
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class MalformedResponseError(RequestError):
    """An answer that cannot be read; the detail says where it breaks."""

    def __init__(self, detail: str) -> None:
        super().__init__("malformed", detail)
