"""Renders the report as one self-contained HTML document, without scripts or requests."""

from __future__ import annotations

from datetime import timedelta
from importlib.resources import files

from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import Level
from spark_rollups.report.model import Chapter, FrontPage, Report
from spark_rollups.report.rendering.figures import figure_html
from spark_rollups.report.rendering.html_findings import actions_html, findings_html
from spark_rollups.report.rendering.html_tables import CLASSES, Page, mark, table_html
from spark_rollups.report.rendering.markup import escaped

# The page loads nothing, so the browser can block all that a hostile name might add.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html_report(report: Report, rows: int, csv_folder: str) -> str:
    page = Page(rows, len(report.systems) <= 1, csv_folder)
    title = f"Capacity report, {report.month.title}"
    chapters = "\n".join(_chapter(chapter, page) for chapter in report.chapters)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escaped(title)}{escaped(_of_systems(report))}</title>
<style>{_style(report)}</style>
</head>
<body>
{_header(report)}
<main>
{_front(report)}
{_contents(report)}
<section class="chapter" id="findings"><h2>Findings</h2>
<p>{escaped(_findings_line(report))}</p>
{findings_html(report.findings, page)}</section>
{chapters}
</main>
{_footer(report)}
</body>
</html>
"""


def _style(report: Report) -> str:
    css = files("spark_rollups.report.rendering").joinpath("report.css").read_text(encoding="utf-8")
    # The footer of printed pages; letters and digits only, so it needs no escape.
    foot = f'@page {{ @bottom-left {{ content: "Capacity report {report.month.title}"; }} }}\n'
    return css + foot


def _of_systems(report: Report) -> str:
    return f" · {fmt.listed(report.systems)}" if report.systems else ""


def _header(report: Report) -> str:
    first, last = report.covered[0], report.covered[-1]
    whole = len(report.month.all_days())
    facts = (
        (
            "System" if len(report.systems) == 1 else "Systems",
            fmt.listed(report.systems) or fmt.UNKNOWN,
        ),
        ("Data", f"{fmt.day_range(first, last)}, {len(report.covered)} of {whole} days"),
        ("Created", f"{fmt.day(report.made.date())}, {report.made:%H:%M} UTC"),
    )
    pairs = "".join(f"<div><dt>{title}</dt><dd>{escaped(text)}</dd></div>" for title, text in facts)
    return (
        f'<header><p class="brand">Streamgauge <span>JetStream capacity report</span></p>'
        f"<h1>{escaped(report.month.title)}</h1><dl>{pairs}</dl></header>"
    )


def _front(report: Report) -> str:
    front = report.front
    sentences = "".join(f"<li>{escaped(sentence)}</li>" for sentence in front.sentences)
    figure = figure_html(front.full) if front.full is not None else ""
    return f"""<section class="front" id="summary">
<div class="headline {CLASSES[front.level]}"><h2>{mark(front.level)}{escaped(front.headline)}</h2>
<ul>{sentences}</ul></div>
{figure}
<div class="pair"><section><h3>Actions</h3>{actions_html(report.findings)}</section>
<section><h3>Compared with {escaped(report.month.before.title)}</h3>{_moved(front)}</section></div>
{_unknown(front)}
</section>"""


def _moved(front: FrontPage) -> str:
    parts = []
    for title, level, sentences in (
        ("Worse", Level.WARNING, front.worse),
        ("Better", Level.NORMAL, front.better),
    ):
        if sentences:
            items = "".join(f"<li>{escaped(sentence)}</li>" for sentence in sentences)
            parts.append(f'<h4 class="{CLASSES[level]}">{mark(level)}{title}</h4><ul>{items}</ul>')
    if parts:
        return "".join(parts)
    known = any(each.before is not None for each in front.comparisons)
    text = (
        "No number changed by 10 % or more." if known else "Unknown: the month before has no data."
    )
    return f'<p class="empty">{text}</p>'


def _unknown(front: FrontPage) -> str:
    if not front.unknown:
        return ""
    items = "".join(f"<li>{escaped(sentence)}</li>" for sentence in front.unknown)
    return (
        f'<div class="unknown"><h3>Unknown</h3><ul>{items}</ul>'
        '<p><a href="#data-quality">Data quality</a></p></div>'
    )


def _contents(report: Report) -> str:
    links = [("findings", "Findings"), *((each.key, each.title) for each in report.chapters)]
    items = "".join(f'<li><a href="#{key}">{escaped(title)}</a></li>' for key, title in links)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def _findings_line(report: Report) -> str:
    if not report.findings:
        return "None."
    return (
        f"{fmt.plural(len(report.findings), 'finding')}, the most severe first. Dates count from "
        f"{fmt.day(report.covered[-1])}: critical findings within {timedelta(days=7).days} days, warnings "
        "within 30, capacity a week before the earliest date. Commands that change something are dry runs."
    )


def _chapter(chapter: Chapter, page: Page) -> str:
    if chapter.as_list:
        sentences = "".join(f"<p>{escaped(sentence)}</p>" for sentence in chapter.sentences)
    else:
        sentences = f"<p>{escaped(' '.join(chapter.sentences))}</p>"
    figures = "".join(figure_html(figure) for figure in chapter.figures)
    tables = "".join(table_html(table, page) for table in chapter.tables)
    return (
        f'<section class="chapter" id="{chapter.key}"><h2>{escaped(chapter.title)}</h2>'
        f'<div class="sentences">{sentences}</div>{figures}{tables}</section>'
    )


def _footer(report: Report) -> str:
    return (
        "<footer><p>Unknown values never appear as 0. The last chapter describes the method and the thresholds. "
        f"{escaped(report.month.title)}, created by Streamgauge.</p></footer>"
    )
