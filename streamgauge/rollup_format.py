"""The format of the rollup tables: the rollup notes it, the report and the audit check it."""

from __future__ import annotations

from typing import Final

ROLLUP_FORMAT: Final = 3
