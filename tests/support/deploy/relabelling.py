"""The relabelling of remote write: which series go to the archive."""

import re
from pathlib import Path
from typing import Any, Final

from support.deploy.files import DEPLOY, load

Relabelling = list[dict[str, Any]]


def relabelling(path: Path) -> Relabelling:
    (to_archive,) = [each for each in load(path)["remote_write"] if ":7779/" in each["url"]]
    found: Relabelling = to_archive["write_relabel_configs"]
    return found


RULES: Final = relabelling(DEPLOY / "prometheus" / "prometheus.yml")


def kept(name: str) -> bool:
    """As Prometheus does it: expressions match the whole name."""
    for rule in RULES:
        matches = re.fullmatch(rule["regex"], name) is not None
        if matches == (rule["action"] == "drop"):
            return False
    return True
