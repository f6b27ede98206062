"""The table of contents and the pages of docs/deploy name what there is."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from support.collected import over_all
from support.deploy.files import DEPLOY, ROOT
from support.documents import all_documents, read_document

CONTENTS: Final = read_document("docs/README.md")
LISTED: Final = {
    str((ROOT / "docs" / unquote(link).partition("#")[0]).resolve().relative_to(ROOT))
    for link in CONTENTS.links()
}
# Listed as a folder, or from a page of their own.
INSIDE: Final = ("docs/runbooks/", "docs/decisions/", "docs/checks/")
PAGES: Final = [d.name for d in all_documents() if not d.name.startswith(INSIDE)]


@over_all(PAGES, "add the page to docs/README.md")
def test_every_page_is_in_the_table_of_contents(name: str) -> None:
    if name != CONTENTS.name:
        assert name in LISTED, "is not listed"


@over_all(
    [name for name in PAGES if name.startswith("docs/deploy") or name == "docs/migrate.md"],
    "a page names a file of deploy that does not exist: correct the page",
)
def test_every_file_of_deploy_that_a_page_names_is_there(name: str) -> None:
    named = re.findall(r"(?<![\w/(])deploy/[\w./*-]*[\w*]", read_document(name).text)
    for each in named:
        assert list(ROOT.glob(each)), each


def test_every_way_to_run_it_has_its_page() -> None:
    text = "\n".join(read_document(name).text for name in PAGES if "deploy" in name)
    text += read_document("docs/migrate.md").text
    for folder in sorted(path for path in DEPLOY.iterdir() if path.is_dir()):
        assert f"deploy/{folder.name}" in text, folder.name
