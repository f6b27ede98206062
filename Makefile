# `make run` and `make test` need nothing before them; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := exporter,alerts,archive,dashboards,spark,connect,docs,dev
READY := $(VENV)/.ready
CHART := deploy/helm/streamgauge
# Most tests wait for servers; each has its own on ports of its own.
PARALLEL := --numprocesses 3 --dist worksteal
# What `make test-long PART=...` runs. The alerts wait most: more workers, not more load.
PART_signals := tests/integration/signals tests/integration/sources tests/integration/events
PART_alerts := tests/contract/alerts tests/lab tests/e2e tests/promtool
PARALLEL_alerts := --numprocesses 7 --dist worksteal
PART_archive := tests/integration/archive tests/unit/archive
PART_spark := tests/spark tests/unit/spark_rollups tests/integration/test_forecast_remote_write.py
# Spark runs once at a time: on other workers its tests would wait for it until their time is over.
PARALLEL_spark := --numprocesses 0
PART_look := tests/browser tests/contract/dashboards tests/integration/demo tests/integration/test_dashboard_queries.py
HOSTILE_SOURCES := $(addprefix tests/integration/sources/test_,access.py hostile_connections.py hostile_monitoring.py required_tls.py short_lists.py)
PART_security := tests/integration/exporter tests/integration/events/test_forged.py $(HOSTILE_SOURCES) tests/unit/streamgauge/serving tests/unit/exporter/sources tests/unit/exporter/events tests/unit/archive/remote_write tests/unit/archive/http
PART_release := tests/unit/release tests/integration/release tests/integration/test_wheel.py tests/integration/audit tests/contract/deploy tests/contract/docs

.PHONY: setup run test test-fast test-docs test-servers test-long fuzz check record generate cut fresh release-dry-run bench docs spark-zip constraints lock setup-release sbom audit-dependencies clean help
.DEFAULT_GOAL := help

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -m venv $(VENV) || { apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV); }
	@echo "installing into $(VENV) (about half a minute the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

setup: $(READY) ## make .venv with everything; the other targets run it on their own

run: $(READY) ## the whole pipeline on this machine, with failures to try; Ctrl-C ends it
	@$(BIN)/streamgauge demo

test: $(READY) ## the tests on the oldest and the newest server
	@$(BIN)/python -m streamgauge.demo.processes.programs tests
	@$(BIN)/python -m pytest $(PARALLEL)

test-fast: $(READY) ## what needs no server, no Java and no browser, in under a minute
	@$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --hypothesis-profile=fast \
	  -m 'not slow and not program' tests/unit tests/contract

test-long: $(READY) ## every server version, longer workloads; PART=signals|alerts|archive|spark|look|security|release
	@test -z '$(PART)' || test -n '$(PART_$(PART))' || { echo "make: no PART $(PART)"; exit 2; }
	@$(BIN)/python -m streamgauge.demo.processes.programs all
	@STREAMGAUGE_LONG=1 $(BIN)/python -m pytest $(or $(PARALLEL_$(PART)),$(PARALLEL)) $(PART_$(PART))

test-docs: $(READY) ## every command, link, name and figure of README and docs
	@$(BIN)/python -m pytest --numprocesses 2 tests/contract/docs tests/contract/deploy

test-servers: $(READY) ## the exporter on the servers of STREAMGAUGE_NATS_VERSIONS="2.11.11 2.12.8"
	@$(BIN)/python -m streamgauge.demo.processes.programs all
	@$(BIN)/python -m pytest $(PARALLEL) tests/integration/exporter tests/integration/sources

fuzz: $(READY) ## a million altered responses and requests, at most half an hour; ARGS="--seed 7 --minutes 5"
	@PYTHONPATH=tests $(BIN)/python -m support.fuzz $(ARGS)

check: $(READY) ## ruff, format, mypy --strict, import rules, vocabulary
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@PYTHONPATH=tests $(BIN)/python -m support.vocabulary

record: $(READY) ## record responses of real servers into tests/recorded
	@PYTHONPATH=tests $(BIN)/python -m support.recordings.record
	@PYTHONPATH=tests $(BIN)/python -m support.grafana.record

generate: $(READY) ## write the generated references, rule files and boards
	@$(BIN)/python -m release.generate
	@$(BIN)/python -m exporter.pages.reference.generate
	@$(BIN)/python -m alerts.generate
	@$(BIN)/python -m dashboards.generate
	@$(BIN)/python -m alerts.compatibility
	@$(BIN)/streamgauge alerts render --format helm --out $(CHART)/templates >/dev/null
	@rm -f $(CHART)/boards/*.json && cp dashboards/generated/*.json $(CHART)/boards/
	@command -v helm >/dev/null || echo "helm is not installed: deploy/kubernetes/streamgauge.yaml stays as it is" >&2
	@! command -v helm >/dev/null || helm template streamgauge $(CHART) --kube-version 1.31.0 --namespace monitoring --values deploy/kubernetes/values.yaml > deploy/kubernetes/streamgauge.yaml

cut: $(READY) ## date the changelog and set the version of a release; VERSION=0.2.0
	@$(BIN)/python -m release.cut $(VERSION)

fresh: generate ## fail when a generated file is stale
	@git diff --exit-code -- docs alerts/generated dashboards/generated deploy pyproject.toml mkdocs.yml

bench: $(READY) ## measure; prints ratio tables, asserts nothing
	@$(BIN)/python -m bench

boards-look: $(READY) ## open every board in a real Grafana in Chromium; GRAFANA_URL, a grafana program or a container
	@PYTHONPATH=tests $(BIN)/python -m support.grafana.look $(ARGS)

docs: $(READY) ## build the documentation site into build/site; links are checked
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

spark-zip: $(READY) ## what spark-submit takes, into dist/
	@$(BIN)/python -m spark_rollups.worker_zip dist

constraints: ## write constraints.txt from the newest versions that fit
	@rm -rf $(VENV) && $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]'
	@{ echo '# What the tests ran with; `make setup` installs exactly these. Renew with `make constraints`.'; \
	   $(BIN)/python -m pip list --format=freeze --exclude pip --exclude setuptools --exclude-editable; } > constraints.txt
	@touch $(READY)

RELEASE_TOOLS := $(VENV)/.release-tools
EXTRA_exporter := exporter
EXTRA_archive := archive
EXTRA_rollups := spark
IMAGES := exporter archive rollups
LOCKED = deploy/container/$(image).requirements.txt
# What the wheel needs with all its extras, and what builds a release.
WHEEL_LOCK := deploy/requirements/wheel.txt
BUILD_LOCK := deploy/requirements/release.txt
comma := ,
EVERY_EXTRA := $(patsubst %,--extra %,$(subst $(comma), ,$(EXTRAS)) release)
COMPILE = $(BIN)/uv pip compile --quiet pyproject.toml --constraint constraints.txt --generate-hashes --no-header --no-annotate

$(RELEASE_TOOLS): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt '.[release]'
	@touch $@

lock: $(RELEASE_TOOLS) ## write the checksums of what images, wheel and release install, from constraints.txt
	@$(foreach image,$(IMAGES),$(COMPILE) --extra $(EXTRA_$(image)) --universal --output-file $(LOCKED) &&) true
	@$(COMPILE) --extra all --extra connect --universal --output-file $(WHEEL_LOCK)
	@$(COMPILE) $(EVERY_EXTRA) --python-version 3.11.9 --python-platform x86_64-manylinux_2_28 --output-file $(BUILD_LOCK)

setup-release: ## make .venv as `make setup` and the release tools, every package by checksum
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(BUILD_LOCK)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY) $(RELEASE_TOOLS)

sbom: $(RELEASE_TOOLS) ## the bill of materials of the wheel and of each image (CycloneDX), into dist/release
	@$(BIN)/python -m release.dry_run --only bills

release-dry-run: $(RELEASE_TOOLS) ## every artefact of a release with checksums, into dist/release; publishes nothing
	@$(BIN)/python -m release.dry_run $(if $(BASE_DIGEST),--base-digest $(BASE_DIGEST))

audit-dependencies: $(RELEASE_TOOLS) ## known vulnerabilities of what images and wheel install; needs the advisory service
	@$(foreach file,$(WHEEL_LOCK) $(foreach image,$(IMAGES),$(LOCKED)),\
	  $(BIN)/pip-audit --strict --require-hashes --disable-pip --requirement $(file) &&) true

clean: ## remove what setup made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'
