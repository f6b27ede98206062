"""The state of each consumer at the end of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from exporter import catalog as c
from spark_rollups.report.facts.assets import Floats, Mask
from spark_rollups.report.facts.columns import HEALTHY
from spark_rollups.report.facts.monthly_facts import Facts

STUCK = ("no worker pulls / not bound", "ack-pending full", "ack floor stuck", "stalled",
         "losing messages", "no leader")  # fmt: skip
LONG_LAG = 3600.0  # seconds; a longer lag that grows cannot wait
_LOOK_BACK = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class CurrentState:
    """Arrays with one entry per consumer."""

    verdict: list[str]  # "" if unknown
    lag: Floats
    growing: Mask  # the lag is long and was longer each day
    losing: Mask  # messages were lost on the newest day or the day before
    last_loss: list[date | None]  # the newest day of the month with a loss

    @property
    def needs_work(self) -> Mask:
        """What cannot wait, and what is wrong with a long or an unknown lag."""
        found = [
            self.is_urgent(index) or (self.is_bad(index) and not self.lag[index] < LONG_LAG)
            for index in range(len(self.verdict))
        ]
        return np.array(found, bool)

    def is_urgent(self, index: int) -> bool:
        return bool(self.losing[index] or self.growing[index]) or self.verdict[index] in STUCK

    def is_bad(self, index: int) -> bool:
        return self.verdict[index] not in ("", *HEALTHY)

    def urgency(self, index: int) -> float:
        """Loss first, then the longest lag, then losses that are over."""
        if self.losing[index]:
            return math.inf
        return float(np.nan_to_num(self.lag[index])) if self.is_urgent(index) else -1.0

    def text(self, index: int) -> str:
        """What is true at the end; "" if nothing is wrong."""
        parts = []
        if self.losing[index]:
            parts.append("it is losing messages")
        verdict = self.verdict[index]
        if verdict and verdict not in HEALTHY and not (verdict == "losing messages" and parts):
            parts.append(verdict)
        if self.growing[index]:
            parts.append("its lag is still growing")
        return ", ".join(parts)


def current_state(facts: Facts) -> CurrentState:
    now = facts.consumers.now
    values = now["verdict"]
    verdict = [
        c.VERDICTS[int(value)] if 0 <= value < len(c.VERDICTS) else "" for value in values.tolist()
    ]
    lag = now["lag_end"]
    recent = np.array([day > facts.as_of - _LOOK_BACK for day in facts.days])
    lags = now["lag_day_ends"][:, recent]
    growing = np.array([_rises(levels) for levels in lags], bool) & (lag >= LONG_LAG)
    lost = now["lost_by_day"] > 0
    newest = np.where(lost.any(axis=1), lost.shape[1] - 1 - lost[:, ::-1].argmax(axis=1), -1)
    last_loss = [facts.days[day] if day >= 0 else None for day in newest.tolist()]
    losing = np.asarray(lost[:, recent][:, -2:].any(axis=1))
    return CurrentState(verdict, lag, growing, losing, last_loss)


def _rises(levels: Floats) -> bool:
    """On each of the days with a value."""
    known = levels[~np.isnan(levels)]
    return len(known) > 1 and bool((np.diff(known) > 0).all())
