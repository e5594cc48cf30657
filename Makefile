# Every target sets up what it needs: a machine with Python 3.11 or newer, and a C compiler if there is one.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
DATA ?= tests/corpus
JOBS ?= 2

.PHONY: setup demo test live conformance bench lint proto lock record drift sanitize fuzz clean

setup: $(STAMP)

# The compiled parts are rebuilt when one of their sources is newer than the last set-up.
$(STAMP): pyproject.toml setup.py requirements-dev.lock $(wildcard prowl_svc/_fast/*.pyx prowl_svc/_fast/*.pxd)
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=") if sys.version_info < (3, 11) else 0'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.lock
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $(STAMP)

demo: setup
	$(BIN)/python -m prowl_svc.demo

test: setup
	$(BIN)/python -m pytest -m "not live" -n $(JOBS) --dist loadfile $(ARGS)

# Runs real agent CLIs, installed from npm into a cache, against a mock model on loopback.
live: setup
	$(BIN)/python -m pytest -m live -n $(JOBS) --dist worksteal $(ARGS)

conformance: setup
	$(BIN)/python -m tests.conformance $(DATA)

bench: setup
	$(BIN)/python -m benchmarks $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=.:clients:clients/prowl_client/gen $(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf breaking --against proto/baseline.binpb
	$(BIN)/python proto/generate.py --check

# Regenerates the committed Python code of the contract.
proto: setup
	$(BIN)/python proto/generate.py

# Resolves the development group anew into the lock.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	build/lock/bin/python -m pip install --quiet --group dev .
	build/lock/bin/python -m pip uninstall --quiet --yes prowl
	{ echo '# Exact versions of everything that development uses; regenerate with: make lock'; build/lock/bin/python -m pip freeze --all --exclude pip; } > requirements-dev.lock

# Records a real agent CLI into new captures: make record AGENT=codex VERSION=0.155.0; the pinned version without one.
record: setup
	$(BIN)/python -m tests.recorder record --agent $(AGENT) $(if $(VERSION),--version $(VERSION)) $(ARGS)

# Classifies all captures and says what is not read as it was.
drift: setup
	$(BIN)/python -m tests.recorder drift $(ARGS)

# Builds the compiled parts with sanitizers in a copy, and runs their tests there; needs gcc.
sanitize: setup
	$(BIN)/python -m benchmarks.sanitize $(ARGS)

# Feeds random and mutated bytes to the terminal, and mutated screens to every classifier.
fuzz: setup
	$(BIN)/python -m benchmarks.fuzz_terminal $(ARGS)
	$(BIN)/python -m benchmarks.fuzz_screens

clean:
	rm -rf build dist *.egg-info prowl_svc/_fast/*.c prowl_svc/_fast/*.so $(STAMP)
