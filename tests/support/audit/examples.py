"""Generates examples.tsv from the test cases: run `python -m support.audit.examples` in tests/."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from support.audit.contexts import Case, found_by

from exporter.audit import examples

FILE: Final = Path(examples.__file__).with_name(examples.FILE)


def cases() -> Iterator[Case]:
    """All cases with findings, so without the exemptions."""
    for path in sorted(Path(__file__).with_name("cases").glob("[a-z]*.py")):
        if path.stem != "exemptions":
            yield from import_module(f"support.audit.cases.{path.stem}").CASES


def generate() -> dict[str, str]:
    """By code: the evidence of the first case of each check."""
    found: dict[str, str] = {}
    for case in cases():
        if case.code not in found:
            found[case.code] = found_by(case.code, case.found)[0].evidence
    return dict(sorted(found.items()))


def main() -> int:
    FILE.write_text(examples.to_tsv(generate()), encoding="utf-8")
    print(f"wrote {FILE.name}: {len(generate())} checks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
