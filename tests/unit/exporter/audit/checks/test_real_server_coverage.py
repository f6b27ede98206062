"""Every check is shown on real servers, or it is said why not."""

from pathlib import Path

from support.audit.model_only_checks import ON_ROWS_ONLY

from exporter.audit.registry import codes

TESTS = Path(__file__).parents[4]
REAL = (
    *TESTS.glob("integration/audit/checks/test_*.py"),
    *TESTS.glob("support/audit/live/*_cases.py"),
)


def test_each_check_is_shown_on_a_real_server_unless_it_cannot_be() -> None:
    shown = "".join(path.read_text() for path in REAL)
    real = {code for code in codes() if f'"{code}"' in shown}
    assert codes() - real == set(ON_ROWS_ONLY)


def test_what_is_shown_on_rows_alone_says_why() -> None:
    assert set(ON_ROWS_ONLY) <= codes()
    assert all(ON_ROWS_ONLY.values())
    assert len(ON_ROWS_ONLY) < 10
