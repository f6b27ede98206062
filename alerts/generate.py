"""`python -m alerts.generate`: writes rules, the reference and configurations of Alertmanager."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from alerts.rendering import alertmanager, reference
from alerts.rendering.rule_files import operator_resource, rule_files
from streamgauge.serving.generated_files import write_changed

ROOT = Path(__file__).parent.parent


def generated() -> Mapping[str, str]:
    """The text of every generated file, by its path from the root."""
    texts = {f"alerts/generated/{name}": text for name, text in rule_files().items()}
    texts["alerts/generated/prometheusrule.yml"] = operator_resource()
    texts["alerts/generated/alertmanager.yml"] = alertmanager.configuration()
    texts["deploy/compose/alertmanager.yml"] = alertmanager.compose_configuration()
    texts["docs/alerts.md"] = reference.render()
    return texts


def write(root: Path) -> list[Path]:
    return write_changed({root / name: text for name, text in generated().items()})


def main() -> int:
    if not (ROOT / "docs").is_dir():
        sys.stderr.write(f"{ROOT / 'docs'} is not there: run this in a source tree\n")
        return 1
    for path in write(ROOT):
        sys.stdout.write(f"wrote {path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
