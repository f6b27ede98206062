# What https://cloudflare.github.io/pint must find in our rules, and what it need not look for.
# Run: pint --config .pint.hcl --offline lint alerts/generated/*.rules.yml

parser {
  schema = "prometheus"
  names  = "utf-8"
  include = ["alerts/generated/.*[.]rules[.]yml"]
}

checks {
  # Rules on events have no `for`: an event that is over would never fire. The time of the event, not the
  # window, decides, so that a restart of Prometheus shows nothing twice.
  disabled = ["promql/fragile"]
}

rule {
  match {
    kind = "alerting"
  }

  annotation "summary" {
    severity = "bug"
    required = true
    value    = "[^{}]+[.]"
  }

  annotation "description" {
    severity = "bug"
    required = true
  }

  annotation "runbook_url" {
    severity = "bug"
    required = true
    value    = ".+/JetStream[A-Za-z]+[.]md.*"
  }

  annotation "dashboard_url" {
    severity = "bug"
    required = true
    value    = ".*/d/sg-[a-z]+.*"
  }

  label "severity" {
    severity = "bug"
    required = true
    value    = "(.*[ \"])?(critical|warning|info|none)([ \"].*)?"
  }

  name "JetStream[A-Z][A-Za-z]+" {
    severity = "bug"
  }

  for {
    severity = "bug"
    max      = "24h"
  }

  keep_firing_for {
    severity = "bug"
    max      = "15m"
  }
}

rule {
  match {
    kind = "recording"
  }

  name "streamgauge:[a-z_]+:[a-z0-9]+" {
    severity = "bug"
  }
}
