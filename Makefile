# Every target does its own set-up in .venv, from pinned requirements.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo quick test nightly check docs dist bench power kill soak audit pictures browser clean

help:
	@echo "make demo    the main job on made-up homes, in under two minutes"
	@echo "make quick   the tests that tell most, in a minute and a half: no browser, Spark or PostgreSQL"
	@echo "make test    all tests but the nightly ones: what a change must pass, at most 15 minutes"
	@echo "make nightly the rest: repeated, slow, and rarely tells anything new"
	@echo "make check   style, types and the one-way rule"
	@echo "make docs    the docs site, strictly, in site/"
	@echo "make dist    the wheel and the source archive, in dist/"
	@echo "make bench   speed, as ratios; writes docs/performance.md"
	@echo "make power   how often the check speaks; writes docs/power.md"
	@echo "make kill    a thousand processes killed at work; writes docs/durability.md"
	@echo "make soak    ten minutes of load, kills and attacks on SQLite and PostgreSQL, then an hour of a simulated"
	@echo "             head-end with every fault, then a crowd of listeners; writes docs/soak.md, docs/headend.md"
	@echo "             and a section of docs/performance.md"
	@echo "make audit   every mechanism's promise, deeply tried; writes docs/audit-figures.md"
	@echo "make pictures  the page, the service and the command line as pictures; writes docs/images"

demo: $(VENV)/core
	$(BIN)/diurnal demo

# The list is in tests/quick.txt. Only what is on it is collected: collecting everything takes half of the time.
quick: $(VENV)/dev
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not nightly" --hypothesis-profile=quick \
		@tests/quick.txt

# Many tests wait, for a disk, a server or a browser: three workers keep two cores busy.
test: $(VENV)/dev browser
	$(BIN)/python -m pytest -n 3 --dist loadgroup --durations=60 --durations-min=5 -m "not nightly"

# Properties are tried again, on three times as many examples.
nightly: $(VENV)/dev browser
	$(BIN)/python -m pytest -n 3 --dist loadgroup --durations=60 --durations-min=5 -m "nightly or hypothesis" \
		--hypothesis-profile=night

check: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/dev
	$(BIN)/python -m mkdocs build --strict

dist: $(VENV)/core
	$(BIN)/python -m hatchling build

bench: $(VENV)/dev
	$(BIN)/python -m benchmarks

power: $(VENV)/dev
	$(BIN)/python -m benchmarks.power

kill: $(VENV)/dev
	$(BIN)/python -m benchmarks.kill

soak: $(VENV)/dev
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks crowd

audit: $(VENV)/dev
	$(BIN)/python -m benchmarks.audit

pictures: $(VENV)/dev browser
	$(BIN)/python tools/pictures.py
	$(BIN)/python tools/service_pictures.py

# Tests of pages run in a real browser; without one they are skipped, and say so.
browser:
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1 \
		|| echo "There is no chromium, and it cannot be installed here: tests in a browser will be skipped."

clean:
	rm -rf $(VENV)

$(VENV)/core: requirements/core.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/core.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--editable .
	@touch $@

$(VENV)/dev: $(VENV)/core requirements/dev.txt requirements/web.txt requirements/spark.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@touch $@
