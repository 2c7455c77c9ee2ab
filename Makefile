# make demo and make test build .venv on first use; test-gpu and bench install nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The cuda extra is asked for where a driver is loaded.
comma := ,
EXTRAS := plot$(comma)dev$(if $(wildcard /proc/driver/nvidia/version),$(comma)cuda)
OUT := out
# A machine with a GPU may have no network: use .venv where it was made, else its own Python.
WITHOUT_INSTALLING = PYTHONPATH=".$${PYTHONPATH:+:$$PYTHONPATH}" \
	$(if $(wildcard $(VENV)/installed),$(BIN)/python,$(PYTHON))
# Where Python is told to keep no bytecode, every worker and every process that a test starts would
# compile our sources, and rewrite the tests' assertions, again: a tenth of the time.
export PYTHONDONTWRITEBYTECODE :=
# For instance BENCH_OPTIONS=--full.
BENCH_OPTIONS :=
# For instance FAULTS_OPTIONS="--only nulls --debug".
FAULTS_OPTIONS :=
# Where the branch began, whose changes `make affected` tests.
SINCE := main

.PHONY: wheels demo quick affected test test-fast test-slow mutations test-gpu faults bench docs gallery lint clean
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

# uv unpacks side by side what it fetches, and keeps it for the next environment: half of pip's
# processor time, a third of its clock's. It knows no index that pip alone is told of: there pip
# does it. That of Python's own takes 4 s to come; the one for `make wheels` comes with the rest.
# What is imported is compiled then; all of what is installed would take half a minute.
$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv --without-pip $(VENV)
	-$(PYTHON) -m pip --python $(BIN)/python install --quiet --no-compile uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python pip --editable '.[$(EXTRAS)]' || { \
		$(BIN)/python -m ensurepip && \
		$(BIN)/python -m pip install --quiet --no-compile --editable '.[$(EXTRAS)]'; }
	touch $@

demo: $(VENV)/installed
	mkdir -p $(OUT)
	$(BIN)/sharedoa compare traffic --json $(OUT)/traffic.json --plot $(OUT)/traffic.png
	$(BIN)/sharedoa run traffic --out $(OUT)/network.png
	@echo "see $(OUT)/traffic.png and $(OUT)/network.png"

# Style and types, those of programs in the documents, too.
lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/checkers/test_checkers.py

# For the loop of work: a few tests of each stage.
quick: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) -m "not gpu and not slow" @tests/quick.txt

# Before a change lands: the tests of what it may touch.
affected: $(VENV)/installed
	mkdir -p $(OUT)
	$(BIN)/python -m tests.affected $(SINCE) > $(OUT)/affected.txt
	[ ! -s $(OUT)/affected.txt ] || $(PYTEST) -m "not gpu and not slow" @$(OUT)/affected.txt

# Types are checked beside the tests, as they keep one core only; meanwhile one of the processes of
# the tests collects them before the other does (tests/one_first.py).
test: $(VENV)/installed
	mkdir -p $(OUT)
	touch $(OUT)/collecting
	COLLECTS_FIRST=$(abspath $(OUT))/collecting $(MAKE) --jobs=2 lint test-fast

test-fast: $(VENV)/installed
	$(PYTEST) -m "not gpu and not slow"

# What takes minutes: paper sizes on the CPU, all kernels for all GPUs in all modes; and random
# tests at length.
test-slow: $(VENV)/installed
	$(PYTEST) -m "slow and not gpu"
	DIFFERENTIAL_EXAMPLES=24 $(PYTEST) -m "hypothesis and not slow and not gpu"
	DIFFERENTIAL_EXAMPLES=24 $(PYTEST) -m "not slow and not gpu" \
		tests/differential/aliasing tests/ptxpass/test_meaning.py

# Every case of the catalogue of faults, a process each: minutes.
faults:
	$(WITHOUT_INSTALLING) -m tests.faults $(FAULTS_OPTIONS)

# Faults that are put into a copy of the tree one at a time: do tests find them? Half an hour.
mutations: $(VENV)/installed
	$(BIN)/python -m tests.mutations

test-gpu:
	$(WITHOUT_INSTALLING) -m pytest -m gpu

bench:
	$(WITHOUT_INSTALLING) -m bench $(BENCH_OPTIONS)

# The documentation site, as files.
docs: $(VENV)/installed
	$(BIN)/python -m sphinx --fail-on-warning --quiet -c docs . $(OUT)/site
	@echo "see $(OUT)/site/index.html"

# Pictures and page of docs/gallery.md, with the newest records.
gallery: $(VENV)/installed
	$(BIN)/python -m bench.gallery

# What `pip install sharedoa` and `sharedoa[apps]` install.
wheels: $(VENV)/installed
	$(BIN)/python -m pip wheel --no-deps --quiet --wheel-dir dist . ./packaging/apps

# Machine code that tests keep, too, of which there may be a gigabyte.
clean:
	rm -rf $(VENV) $(OUT) .pytest_cache
