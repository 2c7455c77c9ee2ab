# make demo and make test build .venv on first use; test-gpu uses the machine's own Python as it is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The cuda extra is asked for where a driver is loaded.
comma := ,
EXTRAS := plot$(comma)dev$(if $(wildcard /proc/driver/nvidia/version),$(comma)cuda)
OUT := out

.PHONY: demo test test-gpu bench lint clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	touch $@

demo: $(VENV)/installed
	mkdir -p $(OUT)
	$(BIN)/sharedoa compare traffic --json $(OUT)/traffic.json --plot $(OUT)/traffic.png
	$(BIN)/sharedoa run traffic --out $(OUT)/network.png
	@echo "see $(OUT)/traffic.png and $(OUT)/network.png"

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -m "not gpu" -n 2

test-gpu:
	PYTHONPATH=. $(PYTHON) -m pytest -m gpu

bench: $(VENV)/installed
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) $(OUT)
