# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make demo    install, make up a city, release it
#   make test    install, run the tests
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := build/demo
TRIPS  ?= 30000000

.PHONY: demo test test-full browser postgres java lint check format bench bench-docs bench-utility bench-numbers bench-sampling docs pictures reference house clean

demo: $(READY)
	@rm -rf $(DEMO)
	$(BIN)/tapveil demo $(DEMO)

test: $(READY) browser postgres java
	$(BIN)/pytest -n auto -m "not slow"

test-full: $(READY) browser postgres java
	TAPVEIL_CASES=5000 TAPVEIL_FUZZ=20000 TAPVEIL_TAMPERED=1000 $(BIN)/pytest -n auto

lint: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	$(BIN)/pytest -q -n auto -m "not slow" tests/unit tests/property tests/architecture src

format: $(READY)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# What a release costs beside the least that it could, as it grows, and beside other libraries. Cities and the results of the last are kept in build/bench; that
# takes an hour or two: it installs each library into an environment of its own, and waits up to ten minutes for each.
bench: $(READY)
	$(BIN)/python -m benchmarks.release --trips $(TRIPS)
	$(BIN)/python -m benchmarks.driver
	$(BIN)/python -m benchmarks.compare -o build/bench/results

# The same, and the pages of docs/ with it.
bench-docs: $(READY)
	$(BIN)/python -m benchmarks.release --trips $(TRIPS) --write
	$(BIN)/python -m benchmarks.compare

bench-utility: $(READY)
	$(BIN)/python -m benchmarks.utility --write

bench-numbers: $(READY)
	$(BIN)/python -m benchmarks.resolutions --write
	$(BIN)/python -m benchmarks.consistency --write
	$(BIN)/python -m benchmarks.tuning --write

bench-sampling: $(READY)
	$(BIN)/python benchmarks/sampling.py

# The documentation as a site, in build/site; a link that leads nowhere fails.
docs: $(READY)
	$(BIN)/python -m sphinx -q -E -W -n --keep-going -d build/doctrees -b html docs build/site
	@echo "Open build/site/index.html"

# The pages of docs/reference, from the code.
reference: $(READY)
	$(BIN)/python -m tools.reference --write

# The picture of the house, from the imports.
house: $(READY)
	$(BIN)/python -m tools.house --write

# The pictures of the tutorial, from a release of the demo city.
pictures: $(READY) browser
	$(BIN)/python -m tools.pictures

# The page is tested in a real Chromium: the one on this machine, or else the system's package.
browser: $(READY)
	@$(BIN)/python -m tests.browser || { \
	  echo "Installing Chromium for the tests of the page ..."; \
	  (apt-get install -y -q chromium || { apt-get update -q && apt-get install -y -q chromium; }) > $(VENV)/chromium.log 2>&1 \
	  || $(BIN)/playwright install chromium >> $(VENV)/chromium.log 2>&1; \
	  $(BIN)/python -m tests.browser || echo "No Chromium: install it, or name it in TAPVEIL_CHROMIUM; the tests of the page will be skipped."; }

# Counting in a database is tested in a real PostgreSQL: the one on this machine, or else the system's package.
postgres: $(READY)
	@$(BIN)/python -m tests.support.postgres || { \
	  echo "Installing PostgreSQL for the tests of counting in a database ..."; \
	  (apt-get install -y -q postgresql || { apt-get update -q && apt-get install -y -q postgresql; }) > $(VENV)/postgres.log 2>&1; \
	  $(BIN)/python -m tests.support.postgres || echo "No PostgreSQL server: install it (pg_ctl on the path, or Debian's package); the tests of counting in a database will be skipped."; }

# Counting on Spark is tested on Spark itself, which needs a Java of version 17 or newer.
java:
	@"$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version > /dev/null 2>&1 || { \
	  echo "Installing Java for the tests of counting on Spark ..."; \
	  (apt-get install -y -q default-jre-headless || { apt-get update -q && apt-get install -y -q default-jre-headless; }) > /dev/null 2>&1; \
	  java -version > /dev/null 2>&1 || echo "No Java: install one (17 or newer); the tests of counting on Spark will be skipped."; }

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml constraints.txt src/tapveil/_version.py
	@$(PYTHON) -c 'import sys; sys.exit("tapveil needs Python 3.11 or newer; try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	@echo "Installing tapveil and its tools into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "venv failed: install your system's python3-venv package"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@
