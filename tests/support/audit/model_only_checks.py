"""Which checks are shown on rows alone, because no test can bring a real server there, and why."""

from typing import Final

# None: each check is shown on real servers.
ON_ROWS_ONLY: Final[dict[str, str]] = {}
