# Every target sets up what it needs in .venv, once.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# Two test processes on two cores, each with one BLAS thread: faster than the other way round.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

# Compiled once, not again in every process that the tests start.
unexport PYTHONDONTWRITEBYTECODE

PAPERS ?= papers/results

# Kernels that OpenBLAS can replay on any machine with AVX2, and one for those with AVX-512.
CPUS ?= Haswell Sandybridge Nehalem Prescott $(shell grep -qs avx512f /proc/cpuinfo && echo SkylakeX)
# The tests of numbers, for where only the processor differs.
ELSEWHERE := cli datasets docs% files fuzz papers% record report% demo architecture
NUMERICAL := $(filter-out $(ELSEWHERE:%=tests/test_%.py),$(wildcard tests/test_*.py))
# What the last run of the tests in random order was shuffled by can be given again.
SHUFFLE ?= $(shell date +%s)

.PHONY: demo papers test test-slow test-cpus test-other-cpu test-oldest test-shuffled test-mutants dist docs docs-lite docs-links docs-open bench clean

demo: $(VENV)/.demo
	$(RUN) -m eigenkit demo

test: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/codespell
	$(ONE_THREAD) $(RUN) -m pytest -n 2

test-slow: $(VENV)/.test
	$(ONE_THREAD) $(RUN) -m pytest -n 2 -m slow

test-cpus: $(VENV)/.test
	@set -e; for cpu in $(CPUS); do \
	  echo "== $$cpu"; $(ONE_THREAD) OPENBLAS_CORETYPE=$$cpu $(RUN) -m pytest -n 2; done
	@echo "== two threads"
	OPENBLAS_NUM_THREADS=2 OMP_NUM_THREADS=2 $(RUN) -m pytest $(NUMERICAL)

# One that no machine of today has, with its own order of additions everywhere, and scipy's
# products in place of the compiled ones.
test-other-cpu: $(VENV)/.test
	$(ONE_THREAD) EIGENKIT_COMPILED=0 OPENBLAS_CORETYPE=Nehalem $(RUN) -m pytest -n 2 $(NUMERICAL)

# Old packages on new ones are full of deprecations that are no concern of ours.
test-oldest: $(VENV)-oldest/.test
	$(ONE_THREAD) $(VENV)-oldest/bin/python -m pytest -n 2 -W ignore::DeprecationWarning

# How much of what could be wrong in the core the tests notice.
test-mutants: $(VENV)/.test
	$(RUN) -m pip install --quiet coverage
	$(RUN) tools/mutants.py --count $(or $(COUNT),100) --seed $(or $(SEED),0)

test-shuffled: $(VENV)/.test
	TMPDIR="$$(mktemp -d -t 'a place with ümläuts XXXXXX')" $(ONE_THREAD) \
	  $(RUN) -m pytest -n 2 --shuffle $(SHUFFLE)

# Both archives, each installed in an environment of its own and used outside of the source tree.
dist: | $(VENV)/bin/python
	$(RUN) -m pip install --quiet build
	rm -rf dist
	$(RUN) -m build --outdir dist .
	@set -e; for archive in dist/*; do \
	  echo "== $$archive"; place=$$(mktemp -d); $(PYTHON) -m venv $$place/venv; \
	  $$place/venv/bin/python -m pip install --quiet "$$archive[cli]"; \
	  cp tools/smoke.py $$place; (cd $$place && venv/bin/python smoke.py); rm -rf $$place; done

docs: $(VENV)/.docs
	$(RUN) -m sphinx -W --keep-going -b html docs docs/_build/html
	$(RUN) docs/check.py docs/_build/html

# The pages with notebooks that run in the reader's browser; serve them by `python -m http.server`.
docs-lite: $(VENV)/.docs $(VENV)/.lite
	$(RUN) -m sphinx -t lite -W --keep-going -b html docs docs/_build/html
	$(RUN) docs/lite.py docs/_build/html
	$(RUN) docs/check.py docs/_build/html

# Follows the links to other places, which needs a network.
docs-links: $(VENV)/.docs
	$(RUN) -m sphinx -b linkcheck docs docs/_build/links

docs-open: docs
	$(RUN) -m webbrowser docs/_build/html/index.html

papers: $(VENV)/.bench
	$(RUN) -m papers --out $(PAPERS)

bench: $(VENV)/.bench
	$(RUN) -m benchmarks.real
	$(RUN) -m benchmarks.core
	$(RUN) -m benchmarks.pls

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'eigenkit needs Python 3.11 or later')"
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable ".[cli,plot,report]"
	touch $@

$(VENV)/.test $(VENV)/.docs $(VENV)/.lite $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable ".[cli,plot,report,$*]"
	touch $@

$(VENV)-oldest/.test: pyproject.toml tools/oldest.py
	$(PYTHON) -m venv $(VENV)-oldest
	$(PYTHON) tools/oldest.py > $(VENV)-oldest/lowest.txt
	$(VENV)-oldest/bin/python -m pip install --quiet \
	  --constraint $(VENV)-oldest/lowest.txt --editable ".[cli,plot,report,test]"
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest docs/_build build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
