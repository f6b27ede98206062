"""`python -m exporter.pages.reference.generate`: writes the references into docs/."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from exporter.pages.reference import checks, configuration, metrics
from streamgauge.serving.generated_files import write_changed

REFERENCES: Mapping[str, Callable[[], str]] = {
    "metrics.md": metrics.render,
    "configuration.md": configuration.render,
    "checks.md": checks.render,
}
DOCS = Path(__file__).parents[3] / "docs"


def write(folder: Path) -> list[Path]:
    """Writes only changed files, so that other modification times stay."""
    return write_changed({folder / name: render() for name, render in REFERENCES.items()})


def main() -> int:
    if not DOCS.is_dir():
        sys.stderr.write(f"{DOCS} does not exist: run this in a source tree\n")
        return 1
    for path in write(DOCS):
        sys.stdout.write(f"wrote {path.relative_to(DOCS.parent)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
