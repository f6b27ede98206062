"""The references as pages of the exporter: whole, escaped, without anything from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter

import pytest
from support.exporter.outline import Outline

from alerts.rules import ALERTS
from exporter import catalog
from exporter.pages.reference.markdown_to_html import to_document
from exporter.pages.reference.page import (
    REFERENCES,
    doc_links,
    docs_page,
    index_page,
    runbook_page,
)
from exporter.pages.reference.runbooks import INDEX, runbooks
from exporter.pages.rendering import DOCS_POLICY
from exporter.settings.flags import FLAGS


@pytest.fixture(params=sorted(REFERENCES))
def page(request: pytest.FixtureRequest) -> Outline:
    return Outline(docs_page(request.param))


def test_every_metric_can_be_linked_to_and_is_explained() -> None:
    page = Outline(docs_page("metrics"))
    anchors = page.values("id")
    for metric in catalog.ALL:
        assert metric.name in anchors
        assert metric.help in page.text


def test_every_flag_and_key_can_be_linked_to() -> None:
    anchors = Outline(docs_page("configuration")).values("id")
    for flag in FLAGS:
        assert flag.text in anchors
        assert flag.key.replace("[0]", "[]") in anchors


def test_tags_balance_and_anchors_are_unique(page: Outline) -> None:
    assert page.open == []
    assert [name for name, times in Counter(page.values("id")).items() if times > 1] == []


def test_every_link_leads_somewhere(page: Outline) -> None:
    anchors = set(page.values("id"))
    pages = {"../", "../metrics", "runbooks/", *REFERENCES}
    assert page.links
    for link in page.links:
        assert link in pages or link.removeprefix("#") in anchors, link


def test_nothing_comes_from_elsewhere(page: Outline) -> None:
    tags = {tag for tag, _, _ in page.attributes}
    assert not tags & {"script", "img", "iframe", "object", "form"}
    assert [value for name in ("src", "href") for value in page.values(name) if "//" in value] == []
    assert "@import" not in page.inline["style"]
    assert "url(" not in page.inline["style"]


def test_the_policy_allows_the_style_of_the_page_and_no_script(page: Outline) -> None:
    digest = base64.b64encode(hashlib.sha256(page.inline["style"].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in DOCS_POLICY
    assert DOCS_POLICY.startswith("default-src 'none'; ")
    assert "script-src" not in DOCS_POLICY


def test_no_markdown_is_left_over(page: Outline) -> None:
    outside_code = re.sub(r"<pre>.*?</pre>", "", page.text, flags=re.DOTALL)
    assert "**" not in outside_code
    assert "| ---" not in outside_code
    assert "\\|" not in outside_code


def test_the_status_page_links_to_all_with_relative_addresses() -> None:
    assert [(link.title, link.href) for link in doc_links()] == [
        ("Metrics reference", "docs/metrics"),
        ("Configuration", "docs/configuration"),
        ("Checks", "docs/checks"),
        ("Runbooks", "docs/runbooks/"),
    ]


def test_every_alert_has_a_runbook_page_whose_links_lead_somewhere() -> None:
    assert {alert.full_name for alert in ALERTS} | {INDEX} == set(runbooks())
    above = {"../../", "../../metrics", "../runbooks/", ".", *(f"../{name}" for name in REFERENCES)}
    for name in runbooks():
        html = runbook_page(name)
        assert "<h1>" in html
        anchors = {f"#{value}" for value in Outline(html).values("id")}
        for link in Outline(html).links:
            page = link.partition("#")[0]
            known = page in above or page in runbooks() or link in anchors
            assert known or "://" in link, f"{name}: {link}"


def test_the_index_lists_every_page() -> None:
    listed = set(Outline(index_page()).links)
    assert {*REFERENCES, *(f"runbooks/{name}" for name in runbooks() if name != INDEX)} <= listed


def test_a_link_to_a_page_that_is_not_served_is_plain_text() -> None:
    assert "permissions.md" in runbooks()["JetStreamExporterPartial"]
    assert "permissions.md" not in runbook_page("JetStreamExporterPartial")


def test_text_is_escaped_everywhere() -> None:
    hostile = "<script>alert(1)</script>"
    markdown = f"# {hostile}\n\n{hostile}\n\n- {hostile}\n\n| a |\n|---|\n| `{hostile}` |\n"
    markdown += f"\n```yaml\n{hostile}\n```\n"
    html = to_document(markdown).html
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 6  # five texts, and the anchor of the row


def test_links_to_other_pages_are_links_and_scripts_are_not() -> None:
    html = to_document("[Checks](checks#no_limits) [bad](javascript:alert(1)) ![x](y.png)").html
    assert '<a href="checks#no_limits">Checks</a>' in html
    assert '<a href="javascript' not in html
    assert "<img" not in html


def test_a_table_keeps_a_bar_inside_a_cell() -> None:
    html = to_document("| flag | meaning |\n|---|---|\n| `--detail core\\|full` | a \\| b |\n").html
    assert '<tr id="--detail">\n<th scope="row"><code>--detail core|full</code></th>' in html
    assert '<td class="wide">a | b</td>' in html


def test_long_names_may_break_between_their_words_only() -> None:
    html = to_document("`a_long.name`").html
    assert html == "<p><code>a_<wbr>long.<wbr>name</code></p>"


def test_code_keeps_its_lines() -> None:
    html = to_document("```yaml\na: 1\n\n# b\n```\n").html
    assert html == '<pre><code class="language-yaml">a: 1\n\n# b\n</code></pre>'
