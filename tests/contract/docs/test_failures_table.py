"""The table of failures has all thirty, with the alerts and sources that the lab measures."""

from support.documents import read_document
from support.lab.failure import PREFIX, Failure
from support.lab.seeds.numbers import ALL

SECTION = "Thirty failures, seen by the account source alone"
Row = tuple[int, str, bool]


def documented() -> set[Row]:
    lines = read_document("docs/sources.md").section(SECTION).text.splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:2] == "| "]
    return {(int(no), alert, sees.startswith("yes")) for no, _, alert, sees in cells[2:]}


def measured(kind: type[Failure]) -> Row:
    check = f" `{kind.check}`" if kind.check else ""
    return kind.number, f"`{PREFIX}{kind.alert}`{check}", kind.account_sees


def test_each_row_is_what_the_lab_provokes() -> None:
    rows = documented()
    raised = {measured(kind) for kind in ALL if kind.alert}
    assert {row for row in rows if not row[1].startswith("none")} == raised
    assert {number for number, _, _ in rows} == set(range(1, 31))
