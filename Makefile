# Everything that is done with this tree, by name. `make` alone lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$name >/dev/null 2>&1 && $$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info)' 2>/dev/null && echo $$name && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# The lists are complete, so nothing is resolved, and Python compiles of a package what it imports, a small part of it.
INSTALL := $(PIP) install --quiet --require-hashes --no-deps --no-compile
JOBS ?= 2
LONG_JOBS ?= 2
FUZZ_SECONDS ?= 60

# Tests write thousands of small repositories and stores: into memory where there is room for them, else where TMPDIR says.
# What is free in /dev/shm may be taken already, by programs; what both leave free counts.
FREE := $(shell { df --output=avail /dev/shm | tail -n +2; awk '/^MemAvailable/ { print $$2 }' /proc/meminfo; } 2>/dev/null | sort -n | head -n 1)
MEMORY := $(shell [ "$(or $(FREE),0)" -gt 8000000 ] && echo /dev/shm)
IN_MEMORY = export TMPDIR="$$(mktemp -d -p "$(or $(MEMORY),$${TMPDIR:-/tmp})")" && chmod 711 "$$TMPDIR" && trap 'rm -rf "$$TMPDIR"' EXIT && trap 'exit 143' TERM

# In CI, a few failed tests run once more, alone, and are printed as flaky where they pass.
AGAIN = { [ "$${CI:-}" = true ] && $(BIN)/python building/failed_tests.py; }

# Tests start hundreds of processes. Without bytecode, each of them compiles the whole program anew.
unexport PYTHONDONTWRITEBYTECODE

C_SOURCES := $(shell find src/knickpoint/native -name "*.[ch]")
KERNEL_SOURCES := setup.py pyproject.toml building/bindings.py building/commands.py building/kernels.py $(C_SOURCES)
# Goals for which nothing is installed that only tests need.
WITHOUT_TESTS := setup demo train-default $(STAMPS)/%
# The flame graph is that of the page which knick profile diff writes.
FRONTEND_SOURCES := $(shell git ls-files --cached --others --exclude-standard frontend src/knickpoint/profiles/page 2>/dev/null)
DASHBOARD := src/knickpoint/server/static/index.html
# What the reference pages are made from.
DESCRIBED := $(shell find src/knickpoint -name "*.py") $(wildcard docs/*.py)

help: ## List the targets
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

# --- setting up -------------------------------------------------------------------------------------

$(STAMPS)/prerequisites:
	@if [ -z "$(PYTHON)" ]; then echo "Python 3.11 to 3.14 is missing. Install it, for example: sudo apt-get install python3 python3-venv" >&2; exit 1; fi
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "The venv module of $(PYTHON) is missing. Install it, for example: sudo apt-get install python3-venv" >&2; exit 1; }
	@command -v git >/dev/null || { echo "git is missing. Install it, for example: sudo apt-get install git" >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/venv: $(STAMPS)/prerequisites
	@test -x $(BIN)/python || { echo "Setting up $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@touch $@

# Where the tests are needed, what they need comes first: it has all that Knickpoint needs.
$(STAMPS)/runtime: requirements/runtime.txt $(STAMPS)/venv | $(if $(filter-out $(WITHOUT_TESTS),$(MAKECMDGOALS)),$(STAMPS)/dev)
	@test $(STAMPS)/dev -nt requirements/dev.txt || { echo "Installing what Knickpoint needs"; $(INSTALL) -r requirements/runtime.txt; }
	@touch $@

$(STAMPS)/dev: requirements/dev.txt $(STAMPS)/venv
	@echo "Installing what the tests need"
	@$(INSTALL) -r requirements/dev.txt
	@touch $@

$(STAMPS)/package: $(KERNEL_SOURCES) $(STAMPS)/runtime
	@echo "Building the kernels"
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src/knickpoint
	@touch $@

$(STAMPS)/node: $(STAMPS)/venv building/node.py frontend/package-lock.json
	@$(BIN)/python building/node.py > $@

$(DASHBOARD): $(FRONTEND_SOURCES) $(STAMPS)/node
	@echo "Building the dashboard"
	@export PATH="$$(cat $(STAMPS)/node)$$PATH" && cd frontend && { test node_modules/.package-lock.json -nt package-lock.json || npm ci --silent --no-audit --no-fund; } && npm run --silent build -- --logLevel warn
	@touch $@

$(STAMPS)/reference: $(DESCRIBED) $(STAMPS)/package $(STAMPS)/dev
	@echo "Writing the reference pages"
	@$(BIN)/python docs/reference.py
	@touch $@

setup: $(STAMPS)/package $(DASHBOARD) ## Set up everything that the program needs, in .venv

setup-dev: setup $(STAMPS)/dev ## Set up everything that the tests need as well

# --- using it ---------------------------------------------------------------------------------------

demo: setup ## The whole story on real input, then the dashboard (DEMO_ARGS=--no-serve ends after the table)
	@$(BIN)/knick demo $(DEMO_ARGS)

# --- checking it ------------------------------------------------------------------------------------

# What takes seconds comes first, with what all need; each uses one core. The checks that take longest run beside the
# tests of the package, and take only what those leave of the processors while they wait.
FIRST_CHECKS := compiled-tests lint imports
BESIDE_TESTS := types test-frontend docs

test: ## Everything that must pass
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line $(FIRST_CHECKS)
	@$(MAKE) --no-print-directory --jobs=3 test-python beside-tests

beside-tests:
	@$(MAKE) --no-print-directory --output-sync=line $(BESIDE_TESTS) SLOWLY="nice -n 10"

lint: $(STAMPS)/dev ## Style of the Python and the C code
	@$(BIN)/ruff check --quiet src tests benchmarks building docs setup.py
	@$(BIN)/ruff format --quiet --check src tests benchmarks building docs setup.py
	@$(BIN)/clang-format --dry-run -Werror $(C_SOURCES)

types: $(STAMPS)/dev ## Static types, strict
	@$(SLOWLY) $(BIN)/mypy --no-error-summary

imports: setup-dev ## The rooms import one way only
	@$(BIN)/lint-imports --no-cache >build/imports.txt 2>&1 || { cat build/imports.txt; exit 1; }

compiled-tests: setup-dev
	@$(BIN)/python building/compiled_tests.py

test-python: setup-dev $(STAMPS)/reference ## The tests of the package, the browser included
	@$(IN_MEMORY) && $(BIN)/python -m pytest -q -n $(JOBS) --dist loadscope -m "not long" $(TEST_ARGS) || $(AGAIN)

test-frontend: $(DASHBOARD) $(STAMPS)/reference ## Lint, types and tests of the dashboard
	@export PATH="$$(cat $(STAMPS)/node)$$PATH" && cd frontend && $(SLOWLY) npm run --silent schema && $(SLOWLY) npm run --silent lint && npm test --silent

docs: setup-dev $(STAMPS)/reference ## Check the names of the API, the map of the rooms, and every link of the site
	@$(SLOWLY) $(BIN)/python docs/reference.py --check
	@NO_MKDOCS_2_WARNING=1 $(SLOWLY) $(BIN)/mkdocs build --quiet --strict

site: setup-dev ## Build the site of the documentation, with a dashboard of real histories, into build/site (SITE_ADDRESS=https://…)
	@echo "Publishing the demonstration"
	@$(BIN)/python docs/demonstration.py $(if $(SITE_ADDRESS),--address $(SITE_ADDRESS)/demonstration)
	@$(MAKE) --no-print-directory docs

docs-pictures: setup-dev ## Take the pictures of the documentation from the demonstration
	@$(BIN)/python docs/pictures.py

docs-write: setup-dev ## Write what the code determines: the reference pages, the names of the API, the map of the rooms
	@$(BIN)/python docs/reference.py --kept

fuzz-formats: setup-dev ## Throw broken files at every format (FUZZ_SECONDS=60)
	@$(BIN)/python tests/formats/fuzz.py $(FUZZ_SECONDS)

fuzz-api: setup-dev $(STAMPS)/reference ## Send requests made from the description of the API: 60 to each operation
	@KNICKPOINT_EXAMPLES=6 $(BIN)/python -m pytest -q -m long --timeout 1800 tests/server/test_api_fuzz.py

test-long: setup-dev $(STAMPS)/reference ## Kills, fuzzing, load, many random examples and all cases of a matrix: minutes, not seconds
	@$(IN_MEMORY) && KNICKPOINT_EXAMPLES=6 $(BIN)/python -m pytest -q -n $(LONG_JOBS) --dist loadscope --no-loadscope-reorder -m "long or thorough or hypothesis" --timeout 1800 $(TEST_ARGS) || $(AGAIN)

# --- measuring it -----------------------------------------------------------------------------------

test-kills: setup-dev ## 100 kills of the sender of notifications, 50 of the programs of a pool, of an instance and of its machines: over an hour
	@KNICKPOINT_KILLS=100 $(BIN)/python -m pytest -q -m long --timeout 1800 tests/notify/test_kills.py
	@KNICKPOINT_KILLS=50 $(BIN)/python -m pytest -q -m long --timeout 1800 tests/bisect/pool/test_kills.py
	@KNICKPOINT_KILLS=50 $(BIN)/python -m pytest -q -m long --timeout 1800 tests/instance/test_service_kills.py
	@KNICKPOINT_KILLS=50 $(BIN)/python -m pytest -q -m long --timeout 3600 tests/instance/test_lost_machines.py

bench-detect: setup-dev ## Speed of detection beside its peers
	@$(BIN)/python benchmarks/detect.py

bench-accuracy: setup-dev ## Accuracy of detection beside its peers
	@$(BIN)/python benchmarks/accuracy.py

bench-store: setup-dev ## Speed of the store beside its peers
	@$(BIN)/python benchmarks/store.py

bench-service: setup-dev ## A running instance: answers, findings, uploads, beside its peers (SERVICE_ARGS="--full" or PARTS)
	@$(BIN)/python benchmarks/service.py $(SERVICE_ARGS)

bench-dashboard: setup-dev ## Speed of the pages of a large instance (DASHBOARD_ARGS=views: one part)
	@$(BIN)/python benchmarks/dashboard_page.py $(DASHBOARD_ARGS)

bench-publish: setup-dev ## Time and size of published pages
	@$(BIN)/python benchmarks/publish.py

bench-watch: setup-dev ## Announcements of histories that are replayed commit by commit
	@$(BIN)/python benchmarks/watch.py

bench-gate: setup-dev ## Pull requests that a check fails without a reason, beside its peers (GATE_ARGS=--quick, or shared for shared machines)
	@$(BIN)/python benchmarks/gate.py $(GATE_ARGS)

bench-compare: setup-dev ## Comparisons of two commits that fail without a reason, and what they find
	@$(BIN)/python benchmarks/compare.py $(COMPARE_ARGS)

bench-try: setup-dev ## Sessions of fifty attempts: claims without a reason, and speed-ups found (TRY_ARGS="--sessions 20 --real 1")
	@$(BIN)/python benchmarks/attempts.py $(TRY_ARGS)

bench-formats: setup-dev ## Speed of reading results files beside the JSON parser alone
	@$(BIN)/python benchmarks/formats.py

bench-cause: setup-dev ## How often the function that a change costs is named first (CAUSE_ARGS="--programs 2 Callgrind")
	@$(BIN)/python benchmarks/cause.py $(CAUSE_ARGS)

bench-bisect: setup-dev ## Tests that finding a commit takes, beside its references (BISECT_ARGS="--quick PART...")
	@$(BIN)/python benchmarks/bisection.py $(BISECT_ARGS)

bench-self: setup ## Count what this checkout costs, and judge it by the kept history; code 3, too few data, passes
	@$(BIN)/python benchmarks/self.py --check --output build/bench/self.csv $(SELF_ARGS) || test $$? -eq 3

# --- learning it ------------------------------------------------------------------------------------

$(STAMPS)/train: $(STAMPS)/venv
	@echo "Installing what learning needs"
	@$(BIN)/python -m venv build/train
	@build/train/bin/python -m pip --disable-pip-version-check --no-input install --quiet 'scikit-learn==1.9.*'
	@touch $@

train-default: $(STAMPS)/train setup ## Learn the trees of the default method anew (TRAIN_ARGS="--output FILE")
	@PYTHONPATH=src build/train/bin/python benchmarks/train_default.py $(TRAIN_ARGS)

# --- releasing it ------------------------------------------------------------------------------------

$(STAMPS)/release: requirements/release.txt $(STAMPS)/venv
	@echo "Installing what building and checking distributions needs"
	@$(BIN)/python -m venv build/release
	@build/release/bin/python -m pip --disable-pip-version-check --no-input install --quiet --require-hashes -r requirements/release.txt
	@touch $@

dist: $(STAMPS)/release $(STAMPS)/node ## Build the wheel and the source distribution of the last commit into dist/, twice, and check them
	@export PATH="$$(cat $(STAMPS)/node)$$PATH" && build/release/bin/python building/distributions.py

try-packages: ## Use the wheel in dist/ as a newcomer does, in new environments, and print the seconds
	@$(BIN)/python building/newcomer.py

# --- keeping it -------------------------------------------------------------------------------------

lock: setup-dev ## Resolve the dependencies anew and write requirements/
	@$(PIP) install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --extra server --group build pyproject.toml -o requirements/runtime.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --all-extras --group build --group test --group lint --group docs pyproject.toml -o requirements/dev.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --group release pyproject.toml -o requirements/release.txt

format: $(STAMPS)/dev $(DASHBOARD) ## Format the Python code, the C code and the dashboard
	@$(BIN)/ruff format --quiet src tests benchmarks building docs setup.py
	@$(BIN)/ruff check --quiet --fix src tests benchmarks building docs setup.py
	@$(BIN)/clang-format -i $(C_SOURCES)
	@export PATH="$$(cat $(STAMPS)/node)$$PATH" && cd frontend && npm run --silent format

clean: ## Remove what was built; .venv stays
	@rm -rf build src/knickpoint/server/static src/*.egg-info frontend/node_modules

.PHONY: beside-tests compiled-tests dist try-packages help setup setup-dev demo test lint types imports test-python test-frontend docs site docs-pictures docs-write test-long test-kills bench-detect bench-accuracy bench-store bench-service bench-dashboard bench-publish bench-watch bench-gate bench-compare bench-try bench-formats bench-cause bench-bisect bench-self train-default fuzz-api fuzz-formats lock format clean
