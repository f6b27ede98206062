"""The exceptions of the exporter.

StreamgaugeError
+ RequestError              a request to NATS without a usable response; never ends a poll
  + MalformedResponseError  a response that is not what a NATS server writes
Configuration errors are streamgauge.serving.settings.loader.SettingsError.
"""

from __future__ import annotations

from exporter import catalog


class StreamgaugeError(Exception):
    """Base class of the exporter's own exceptions."""


class RequestError(StreamgaugeError):
    """Why a request failed; `reason` is one of catalog.REASONS."""

    def __init__(self, reason: str, detail: str) -> None:
        if reason not in catalog.REASONS:
            raise ValueError(f"{reason} is not one of catalog.REASONS")
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    def add_progress(self, progress: str) -> None:
        """Adds to the detail what was received before the failure."""
        self.detail = f"{self.detail}; {progress}"
        self.args = (f"{self.reason}: {self.detail}",)


class MalformedResponseError(RequestError):
    """A response that cannot be decoded; the detail names the place."""

    def __init__(self, detail: str) -> None:
        super().__init__("malformed", detail)
