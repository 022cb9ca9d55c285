# dnsadmin's commands. `make help` lists them.

# The first Python that is new enough; choose another with `make run PYTHON=python3.13`.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
TEST_STATE := $(CURDIR)/.state/test
PYTEST = DNSADMIN_STATE_DIR="$(TEST_STATE)" DNSADMIN_TEST_DEPTH=$(DEPTH) \
	$(BIN)/python -m pytest -n $(WORKERS)
# Tests that wait leave time for others.
WORKERS := $$((2 * $$(getconf _NPROCESSORS_ONLN)))
# Without its bytecode every process that a test starts would compile the whole product again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run web guard worker beat migrate test test-deep test-services check format bench simulate measure guard-fleet clean

help:
	@echo "make run            everything on this machine, at http://127.0.0.1:$${PORT:-8000}/ (SAMPLE=0: start empty)"
	@echo "make test           the tests for every day, on SQLite and the embedded broker"
	@echo "make test-deep      the slow tests, and everything random in depth (DEPTH=commit: less, full: before a release)"
	@echo "make test-services  what a database, a broker or a browser can change: on private PostgreSQL and Redis"
	@echo "make check          format, lint, types, import contracts, migrations, deployment checks"
	@echo "make bench          figures, each with its floor and bar (SIZE=1000000, ONLY=\"sync transfer\", DATABASE_URL)"
	@echo "make simulate       10,000 providers by number of workers (WORKERS=\"16 32\", PROVIDERS, INTERVAL, MINUTES, SEED)"
	@echo "make guard-fleet    instances behind one guard (SIZE, INSTANCES, INTERVAL, MINUTES, CHANGED, VIEWS=1)"
	@echo "make measure        the size of the code, and how many files a sync and a transfer pass through"
	@echo "make web | guard | worker | beat | migrate   one role, settings from the environment"

.venv/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later with venv is needed (Debian: python3 python3-venv)."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

.venv/product: .venv/python requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/development: .venv/product requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

run: .venv/product
	@exec $(BIN)/python -m dnsadmin.supervisor

web guard worker beat migrate: .venv/product
	@exec $(BIN)/python -m dnsadmin.roles $@

.PHONY: prepared
prepared: .venv/development
	@DNSADMIN_STATE_DIR="$(TEST_STATE)" $(BIN)/python -m dnsadmin.prepare

# How many random examples are tried: see tests/depth.py.
test: DEPTH := quick
test: prepared
	$(PYTEST) -m "not browser and not deep" $(ARGS)

# Together with `make test` this is every test; only what is random runs in both. `.ci/run` has it try less at
# random (DEPTH=commit).
test-deep: DEPTH := deep
test-deep: prepared
	$(PYTEST) -m "(deep or random) and not browser" $(ARGS)

# What neither a database nor a broker changes runs once, on SQLite: `tests/providers`, which is pure Python, and
# what is marked `one_database` (CONTRIBUTING.md has the rule).
WITH_SERVICES := -m "not one_database" tests/project tests/registry_app tests/journeys

test-services: DEPTH := services
test-services: prepared
	$(BIN)/python -m tests.services $(PYTEST) $(if $(ARGS),$(ARGS),$(WITH_SERVICES))

# mypy takes longer than all others together, on one processor.
check: prepared
	@$(MAKE) --no-print-directory --jobs 2 --output-sync check-types check-all-else

.PHONY: check-types check-all-else
check-types:
	DNSADMIN_STATE_DIR="$(TEST_STATE)" $(BIN)/mypy

check-all-else:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo
	DNSADMIN_STATE_DIR="$(TEST_STATE)" $(BIN)/python manage.py makemigrations --check --dry-run
	DNSADMIN_STATE_DIR="$(TEST_STATE)" DNSADMIN_ALLOWED_HOSTS=dns.example.org $(BIN)/python manage.py check --deploy --fail-level WARNING

format: .venv/development
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: prepared
	DNSADMIN_STATE_DIR="$(TEST_STATE)" $(BIN)/python -m bench

simulate: prepared
	DNSADMIN_STATE_DIR="$(TEST_STATE)" $(BIN)/python -m bench.simulate

guard-fleet: prepared
	DNSADMIN_STATE_DIR="$(TEST_STATE)" $(BIN)/python -m bench.guard_fleet

measure: prepared
	DNSADMIN_STATE_DIR="$(TEST_STATE)" $(BIN)/python -m bench.measure

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
