"""Links of alerts: templates that find the addresses when Prometheus expands them."""

from __future__ import annotations

from alerts.render_options import RenderOptions
from exporter import catalog

# Not only now: a link must open while the exporter is down.
_ADDRESSES = f'query "last_over_time({catalog.WEB_INFO.name}[1d])"'
_EXPORTER = (
    "{{ if .Labels.external_url }}{{ .Labels.external_url }}"
    "{{ else }}{{ .Labels.scheme }}://{{ .Labels.instance }}{{ end }}"
)


def runbook_url(alert: str, options: RenderOptions) -> str:
    """A page of the exporter, unless the options say where the runbooks are."""
    if options.runbooks:
        return f"{options.runbooks}/{alert}.md"
    return _with_addresses(f"{_EXPORTER}/docs/runbooks/{alert}", f"docs/runbooks/{alert}.md")


def board_url(path: str, options: RenderOptions) -> str:
    """A board, where the address of Grafana is known; else the status page of the exporter."""
    if options.boards:
        return f"{options.boards}{path}"
    board = f"{{{{ .Labels.grafana_url }}}}{path}"
    known = f"{{{{ if .Labels.grafana_url }}}}{board}{{{{ else }}}}{_EXPORTER}/{{{{ end }}}}"
    return _with_addresses(known, path)


def _with_addresses(known: str, otherwise: str) -> str:
    found = f"{{{{ with {_ADDRESSES} }}}}{{{{ with first . }}}}"
    return f"{found}{known}{{{{ end }}}}{{{{ else }}}}{otherwise}{{{{ end }}}}"
