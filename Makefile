# Every target sets up what it needs in .venv, once.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# Two test processes on two cores, each with one BLAS thread: faster than the other way round.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

PAPERS ?= papers/results

.PHONY: demo papers test test-slow lint docs bench clean

demo: $(VENV)/.demo
	$(RUN) -m eigenkit demo

test: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(ONE_THREAD) $(RUN) -m pytest -n 2

test-slow: $(VENV)/.test
	$(ONE_THREAD) $(RUN) -m pytest -n 2 -m slow

docs: $(VENV)/.docs
	$(RUN) -m sphinx -W --keep-going -b html docs docs/_build/html

papers: $(VENV)/.bench
	$(RUN) -m papers --out $(PAPERS)

bench: $(VENV)/.bench
	$(RUN) -m benchmarks.core
	$(RUN) -m benchmarks.pls
	$(RUN) -m benchmarks.views

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'eigenkit needs Python 3.11 or later')"
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable ".[cli,plot,report]"
	touch $@

$(VENV)/.test $(VENV)/.docs $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable ".[cli,plot,report,$*]"
	touch $@

clean:
	rm -rf $(VENV) docs/_build build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
