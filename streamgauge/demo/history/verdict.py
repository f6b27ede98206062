"""The verdict of a consumer at each timestamp, by the exporter's order of conditions."""

from __future__ import annotations

from typing import Final

import numpy as np

from exporter.catalog import VERDICTS
from streamgauge.demo.history.backlog import Queue
from streamgauge.demo.history.scenario import ConsumerPlan
from streamgauge.demo.history.time_grid import Floats, Grid, Mask

_OK, _IDLE, _BEHIND = (VERDICTS.index(each) for each in ("ok", "idle", "falling behind"))
_NO_WORKER_PULLS: Final = VERDICTS.index("no worker pulls / not bound")
_FULL: Final = VERDICTS.index("ack-pending full")
_LOOP: Final = VERDICTS.index("redelivery loop")
_LOSING: Final = VERDICTS.index("losing messages")
_LOOPING_SHARE: Final = 0.15
_HOUR: Final = 3600


def verdicts(queue: Queue, ack_pending: Floats, plan: ConsumerPlan, grid: Grid) -> Floats:
    losing = np.diff(queue.lost, prepend=0.0) > 0
    away = np.zeros(len(grid), np.bool_) if plan.away is None else grid.during(*plan.away)
    looping = np.full(len(grid), plan.again > _LOOPING_SHARE) & (queue.done > 0)
    judged = (
        (losing, _LOSING),
        (ack_pending >= plan.max_ack_pending, _FULL),
        (looping, _LOOP),
        (away & (queue.pending > 0), _NO_WORKER_PULLS),
        (_growing(queue.pending, queue.done, grid), _BEHIND),
        ((queue.done == 0) & (queue.pending == 0), _IDLE),
    )
    return np.select([holds for holds, _ in judged], [name for _, name in judged], _OK).astype(
        np.float64
    )


def _growing(pending: Floats, done: Floats, grid: Grid) -> Mask:
    """More pending than an hour ago, and more than the last step processed."""
    back = max(_HOUR // grid.step, 1)
    before = np.concatenate([np.full(back, np.inf), pending[:-back]])
    growing: Mask = (pending > before) & (pending > done)
    return growing
