# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make demo    install what running needs, make up a city, release it in two ways
#   make test    install what testing needs, run the tests
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(VENV)/.run
DEV    := $(VENV)/.dev
DEMO   := build/demo
TRIPS  ?= 30000000
JOBS   ?= auto
SYSTEM ?= yes
PYTEST  = $(BIN)/pytest -n $(JOBS) --dist worksteal

# Some machines tell Python to keep no compiled modules: every command of a test would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE

# What only `make test-full` runs to its end, each part by itself.
FULL := test-audit test-crashes test-fuzz test-messy test-pages test-spark test-statistical test-studio test-tampering

.PHONY: demo dev test test-full $(FULL) lint check format docs wheel clean
.PHONY: bench bench-docs bench-history bench-utility bench-numbers bench-sampling pictures reference house

demo: $(RUN)
	@rm -rf $(DEMO)
	$(BIN)/tapveil demo $(DEMO)

dev: $(DEV)

test: $(DEV) system-browser-postgres-java-r-office
	$(PYTEST) -m "not slow"

# The tests, then every part; one that fails stops no other. JOBS=1 runs one test at a time.
test-full: $(DEV)
	@$(MAKE) -k test $(FULL)

test-audit: $(DEV)
	$(PYTEST) -m slow tests/end_to_end/test_audit.py tests/end_to_end/test_intruder.py

test-crashes: $(DEV)
	$(PYTEST) -m slow tests/end_to_end/test_crashes.py tests/end_to_end/test_run.py

test-fuzz: $(DEV)
	TAPVEIL_FUZZ=20000 $(PYTEST) tests/property/test_fuzz.py

test-messy: $(DEV)
	TAPVEIL_CASES=5000 $(PYTEST) tests/property/test_messy.py

test-pages: $(DEV) system-browser
	$(PYTEST) -m slow tests/browser/test_flows.py

test-spark: $(DEV) system-java
	$(PYTEST) -m slow tests/engines/test_spark.py

test-statistical: $(DEV)
	TAPVEIL_DRAWS=5000000 TAPVEIL_RELEASES=10000 $(PYTEST) tests/unit/privacy/test_mechanisms.py tests/unit/privacy/test_attacker.py tests/statistical

test-studio: $(DEV) system-browser
	$(PYTEST) -m slow tests/browser/test_studio.py tests/browser/test_studio_attackers.py tests/browser/test_tutorial.py tests/end_to_end/test_studio.py

test-tampering: $(DEV)
	TAPVEIL_TAMPERED=1000 $(PYTEST) tests/end_to_end/test_verify.py tests/end_to_end/test_golden.py

# What tests need of the system: the program on this machine, or else Debian's package, which is named before it is installed.
system-%: $(DEV)
	@$(BIN)/python -m tools.system $(if $(filter no,$(SYSTEM)),--no-install) $(subst -, ,$*)

lint: $(DEV)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	$(PYTEST) -q -m "not slow" tests/unit tests/property tests/architecture src

format: $(DEV)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# What a release costs beside the least that it could, as it grows, and beside other libraries. Cities and the results of the last are kept in build/bench; that
# takes an hour or two: it installs each library into an environment of its own, and waits up to ten minutes for each.
bench: $(DEV)
	$(BIN)/python -m benchmarks.release --trips $(TRIPS)
	$(BIN)/python -m benchmarks.driver
	$(BIN)/python -m benchmarks.compare -o build/bench/results

# The same, and the pages of docs/ with it.
bench-docs: $(DEV)
	$(BIN)/python -m benchmarks.release --trips $(TRIPS) --write
	$(BIN)/python -m benchmarks.compare

# A run more in the history of what a release costs, at a size that takes some minutes; and its page.
bench-history: $(DEV)
	$(BIN)/python -m benchmarks.release --trips 5000000 --csv 2000000 --growth --record

bench-utility: $(DEV)
	$(BIN)/python -m benchmarks.utility --write

bench-numbers: $(DEV)
	$(BIN)/python -m benchmarks.resolutions --write
	$(BIN)/python -m benchmarks.consistency --write
	$(BIN)/python -m benchmarks.tuning --write
	$(BIN)/python -m benchmarks.bounding --write
	$(BIN)/python -m benchmarks.world --write

bench-sampling: $(DEV)
	$(BIN)/python benchmarks/sampling.py

# The documentation as a site, in build/site; a link that leads nowhere fails.
docs: $(DEV)
	$(BIN)/python -m sphinx -q -E -W -n --keep-going -d build/doctrees -b html docs build/site
	@echo "Open build/site/index.html"

# The package as others install it, into an environment of its own: it makes a city, and verifies what it published.
wheel:
	@rm -rf dist build/wheel
	@$(CHECKED)
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist .
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(ls dist/*.whl)[publish]"
	cd build/wheel && bin/tapveil demo city --trips 20000 --quiet && bin/tapveil verify city/published

# The pages of docs/reference, from the code.
reference: $(DEV)
	$(BIN)/python -m tools.reference --write

# The picture of the house, from the imports.
house: $(DEV)
	$(BIN)/python -m tools.house --write

# The pictures of the tutorials, from releases of the demo city.
pictures: $(DEV) system-browser
	$(BIN)/python -m tools.pictures

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

CHECKED := $(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("tapveil needs Python 3.11 or newer; try: make PYTHON=python3.12 ...")'
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

$(RUN): pyproject.toml constraints.txt src/tapveil/_version.py
	@$(CHECKED)
	@echo "Installing tapveil into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "venv failed: install your system's python3-venv package"; exit 1; }
	@$(PIP) --no-compile -e '.[publish]'
	@touch $@

$(DEV): $(RUN)
	@echo "Installing what tests, documentation and tools need into $(VENV) (two gigabytes) ..."
	@$(PIP) -e '.[dev]'
	@touch $@
