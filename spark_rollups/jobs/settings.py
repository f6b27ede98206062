"""Settings of a rollup run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date

from spark_rollups import metric_selection
from spark_rollups.rollup.series_dimension import FOLDED_LABELS
from streamgauge.rollup_format import ROLLUP_FORMAT


@dataclass(frozen=True, slots=True)
class RollupSettings:
    archive: str
    out: str
    first: date | None = None
    last: date | None = None
    from_raw: bool = False
    forecasts: bool = True  # and trends, as of the newest whole day and of the ends of months
    folded: tuple[str, ...] = FOLDED_LABELS
    hourly: tuple[str, ...] = metric_selection.HOURLY
    states: tuple[str, ...] = metric_selection.STATES
    quantiles: tuple[str, ...] = metric_selection.QUANTILES

    def meaning(self) -> str:
        """All settings that influence the numbers: with others every day is computed again."""
        lists = (self.folded, self.hourly, self.states, self.quantiles)
        return json.dumps([ROLLUP_FORMAT, self.from_raw, *map(sorted, lists)])
