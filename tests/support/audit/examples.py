"""An evidence line of every check, for its page: `python -m support.audit.examples` in tests/.

They are what the checks say of the cases of their own tests, so that no page shows what none says.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from support.audit.contexts import Case, found_by

from exporter.audit import examples

FILE: Final = Path(examples.__file__).with_name(examples.FILE)


def cases() -> Iterator[Case]:
    """Of every file of cases but the one about what must stay quiet."""
    for path in sorted(Path(__file__).with_name("cases").glob("[a-z]*.py")):
        if path.stem != "exemptions":
            yield from import_module(f"support.audit.cases.{path.stem}").CASES


def made() -> dict[str, str]:
    """By code: of the first case of each check."""
    found: dict[str, str] = {}
    for case in cases():
        if case.code not in found:
            found[case.code] = found_by(case.code, case.found)[0].evidence
    return dict(sorted(found.items()))


def main() -> int:
    FILE.write_text(examples.written(made()), encoding="utf-8")
    print(f"wrote {FILE.name}: {len(made())} checks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
