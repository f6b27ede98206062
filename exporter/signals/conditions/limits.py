"""The thresholds by which conditions are judged: a block of the exporter's settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from alerts import thresholds as t
from alerts.quantity import Threshold, ThresholdError
from streamgauge.serving.settings.declaration import setting
from streamgauge.serving.settings.durations import Duration
from streamgauge.serving.settings.errors import InvalidSettingError


def _of(threshold: Threshold) -> tuple[float, str]:
    """Default and help."""
    return threshold.value, f"{threshold.meaning[0].upper()}{threshold.meaning[1:]}."


def _count_of(threshold: Threshold) -> tuple[int, str]:
    value, meaning = _of(threshold)
    return int(value), meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Each has the name, the default and the meaning of the threshold of the alerts."""

    consumer_busy_ratio: float = setting(*_of(t.CONSUMER_BUSY_RATIO))
    loop_finished_ratio: float = setting(*_of(t.LOOP_FINISHED_RATIO))
    redelivery_ratio: float = setting(*_of(t.REDELIVERY_RATIO))
    nak_ratio: float = setting(*_of(t.NAK_RATIO))
    deliveries_least: int = setting(*_count_of(t.DELIVERIES_LEAST))
    ack_wait_ratio: float = setting(*_of(t.ACK_WAIT_RATIO))
    ack_floor_gap_windows: float = setting(*_of(t.ACK_FLOOR_GAP_WINDOWS))
    ack_floor_gap_deliveries: int = setting(*_count_of(t.ACK_FLOOR_GAP_DELIVERIES))
    ack_pending_ratio: float = setting(*_of(t.ACK_PENDING_RATIO))
    ack_pending_window_least: int = setting(*_count_of(t.ACK_PENDING_WINDOW_LEAST))
    retention_headroom_ratio: float = setting(*_of(t.RETENTION_HEADROOM_RATIO))
    stream_full_ratio: float = setting(*_of(t.STREAM_FULL_RATIO))
    stream_filling_ratio: float = setting(*_of(t.STREAM_FILLING_RATIO))
    stream_filling_horizon: Duration = setting(*_of(t.STREAM_FILLING_HORIZON))
    replica_lag: int = setting(*_count_of(t.REPLICA_LAG))
    replica_divergence_messages: int = setting(*_count_of(t.REPLICA_DIVERGENCE_MESSAGES))
    replica_divergence_ratio: float = setting(*_of(t.REPLICA_DIVERGENCE_RATIO))
    source_silence: Duration = setting(*_of(t.SOURCE_SILENCE))
    clock_offset: Duration = setting(*_of(t.CLOCK_OFFSET))
    server_storage_ratio: float = setting(*_of(t.SERVER_STORAGE_RATIO))

    def __post_init__(self) -> None:
        for name, value in self.items():
            try:
                replace(t.BY_NAME[name], value=value)
            except ThresholdError as error:
                raise InvalidSettingError(str(error).removeprefix(f"{name}: "), name) from None
        if not self.stream_filling_ratio < self.stream_full_ratio:
            raise InvalidSettingError("is not below stream_full_ratio", "stream_filling_ratio")

    def items(self) -> Iterator[tuple[str, float]]:
        return ((each.name, getattr(self, each.name)) for each in fields(self))


DEFAULT_LIMITS = Limits()
