"""Finds modules of other packages that Python imports in place of ours: our names are plain words."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

OWN_PACKAGES: Final = frozenset(
    ("alerts", "archive", "dashboards", "exporter", "spark_rollups", "streamgauge")
)
_OURS: Final = Path(__file__).parents[1]


def foreign_module(names: Iterable[str] = sorted(OWN_PACKAGES), ours: Path = _OURS) -> str:
    """What shadows a package of ours, and where it lies; empty when nothing does."""
    for name in names:
        spec = find_spec(name)
        if spec is None:
            continue  # its import says more than we could
        folders = spec.submodule_search_locations or []
        places = [spec.origin, *folders] if spec.origin else list(folders)
        if not any(Path(place).is_relative_to(ours / name) for place in places):
            return (
                f"the module {name!r} at {places[0]} is not Streamgauge's ({ours / name}): install "
                "Streamgauge into an environment of its own (uv tool, pipx, venv or an image), "
                "and start it in a folder without that name"
            )
    return ""
