"""Links of alerts: templates that find the addresses when Prometheus expands them."""

from __future__ import annotations

from alerts.render_options import RenderOptions
from alerts.rule import Alert
from exporter import catalog
from streamgauge.promql.selectors import SCRAPE

_ON_BOARDS = ("system", "account", "stream", "consumer")
# Pages of the exporter and what chooses the asset; where several fit, the last one is meant.
_PAGES = {
    "server": ("system", "server"),
    "stream": ("system", "account", "stream"),
    "consumer": ("system", "account", "stream", "consumer"),
}
# It is about a server that the exporter may not know any more: the overview names it.
_ON_OVERVIEW = ("MetaPeerOffline",)
# Those that are up first. Without one the link must still lead to where it will be again.
_EXPORTERS = f"(2 * {catalog.WEB_INFO.name} or last_over_time({catalog.WEB_INFO.name}[1d]))"
_SYSTEMS = f"last_over_time({catalog.SNAPSHOT_AGE_SECONDS.name}{{%s}}[1d])"
_EXPORTER = (
    "{{ if .Labels.external_url }}{{ .Labels.external_url }}"
    "{{ else }}{{ .Labels.scheme }}://{{ .Labels.instance }}{{ end }}"
)


def runbook_url(alert: Alert, options: RenderOptions) -> str:
    """A page of the exporter, unless the options say where the runbooks are."""
    name = alert.full_name
    if options.runbooks:
        return f"{options.runbooks}/{name}.md"
    return _with_addresses(alert, f"{_EXPORTER}/docs/runbooks/{name}", f"docs/runbooks/{name}.md")


def board_url(alert: Alert, options: RenderOptions) -> str:
    """A board, where the address of Grafana is known; else the exporter's page of the asset."""
    path = _board(alert)
    if options.boards:
        return f"{options.boards}{path}"
    board, page = f"{{{{ .Labels.grafana_url }}}}{path}", f"{_EXPORTER}/{_page(alert)}"
    known = f"{{{{ if .Labels.grafana_url }}}}{board}{{{{ else }}}}{page}{{{{ end }}}}"
    return _with_addresses(alert, known, path)


def _board(alert: Alert) -> str:
    """A label that only some series have is in a condition: an empty variable selects nothing."""
    chosen = ""
    for label in _ON_BOARDS:
        if label in alert.when.labels:
            chosen += f"&var-{label}={_value(label)}"
        elif label in alert.when.possible:
            chosen += (
                f"{{{{ with $labels.{label} }}}}&var-{label}={{{{ . | urlquery }}}}{{{{ end }}}}"
            )
    return f"/d/{alert.board.value}?orgId=1{chosen}"


def _page(alert: Alert) -> str:
    """The overview where the labels name no asset that has a page."""
    found = ""
    if alert.name in _ON_OVERVIEW:
        return found
    for kind, labels in _PAGES.items():
        query = "&".join(f"{label}={_value(label)}" for label in labels)
        if set(labels) <= set(alert.when.labels):
            found = f"{kind}?{query}"
        elif set(labels) <= set(alert.when.possible):
            found = f"{{{{ if $labels.{kind} }}}}{kind}?{query}{{{{ else }}}}{found}{{{{ end }}}}"
    return found


def _value(label: str) -> str:
    return f"{{{{ $labels.{label} | urlquery }}}}"


def _with_addresses(alert: Alert, known: str, otherwise: str) -> str:
    found = f"{{{{ with {_exporters_of(alert)} | query }}}}{{{{ with first . }}}}"
    return f"{found}{known}{{{{ end }}}}{{{{ else }}}}{otherwise}{{{{ end }}}}"


def _exporters_of(alert: Alert) -> str:
    """A query for the exporters of the alert's system; for all of them where it is about none."""
    if "system" not in alert.when.labels:
        return f'"sort_desc{_EXPORTERS}"'
    labels = ("system", *SCRAPE) if alert.guarded else ("system",)
    chosen = _SYSTEMS % ",".join(f"{label}=%q" for label in labels)
    values = " ".join(f"$labels.{label}" for label in labels)
    by = ", ".join((*SCRAPE, "instance"))
    return f'printf "sort_desc({_EXPORTERS} and on ({by}) {chosen})" {values}'
