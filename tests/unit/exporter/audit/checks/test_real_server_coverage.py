"""Every check has a test on a real server, or a reason why not."""

from pathlib import Path

from support.audit.model_only_checks import MODEL_ONLY

from exporter.audit.registry import codes

TESTS = Path(__file__).parents[4]
REAL = (
    *TESTS.glob("integration/audit/checks/test_*.py"),
    *TESTS.glob("support/audit/live/*_cases.py"),
)


def test_every_check_is_tested_on_a_real_server() -> None:
    text = "".join(path.read_text() for path in REAL)
    missing = sorted(code for code in codes() if f'"{code}"' not in text)
    where = "add a row to tests/support/audit/live/{consumer,stream}_cases.py"
    assert missing == sorted(MODEL_ONLY), f"{where}, or a reason to model_only_checks.py"


def test_checks_without_a_real_server_have_a_reason() -> None:
    assert set(MODEL_ONLY) <= codes()
    assert all(MODEL_ONLY.values())
