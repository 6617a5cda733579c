# GNU make and a POSIX shell. Everything is made in this folder: .venv holds the packages, .mnemosyne the data.
.DEFAULT_GOAL := help
.PHONY: help demo test check bench serve stop clean
.DELETE_ON_ERROR:

VENV ?= .venv
BENCH_VENV = benchmarks/.venv
BIND ?= 127.0.0.1:8000
PYTHON_CHOICES = $(PYTHON) python3.13 python3.12 python3.11 python3
RUN = $(VENV)/bin/python
MANAGE = $(RUN) manage.py
comma := ,

# The question reaches the command through the environment, with its quotes, dollars and semicolons untouched.
unexport QUERY
export MNEMOSYNE_QUERY := $(value QUERY)
export MNEMOSYNE_BENCH_DATA := $(value DATA)

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F '|' '{printf "%-14s %s\n", $$1, $$2}'

demo: $(VENV)/.installed-local ## Install, start Neo4j and the models, take in the sample, search: QUERY="..."
	@$(RUN) -m mnemosyne.local up || { echo "make demo stopped: the local services did not start (see above)."; exit 1; }
	@$(MANAGE) demo -- "$$MNEMOSYNE_QUERY" || { echo "make demo stopped: see the last lines above."; exit 1; }

test: $(VENV)/.installed-dev ## Install what the tests need and run them all, on a Neo4j of their own
	$(VENV)/bin/pytest $(ARGS)

check: $(VENV)/.installed-dev ## Lint, formatting, types and the rules between the layers
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy .
	$(VENV)/bin/lint-imports

bench: $(BENCH_VENV)/.installed ## Measure speed beside the peers: DATA=/path/to/scifact BENCH_ARGS="--only latency"
	@if [ -z "$$MNEMOSYNE_BENCH_DATA" ]; then \
	  echo "Name a BEIR folder (corpus.jsonl, queries.jsonl): make bench DATA=/path/to/scifact"; exit 2; \
	fi
	@$(BENCH_VENV)/bin/python -m benchmarks --data "$$MNEMOSYNE_BENCH_DATA" $(BENCH_ARGS)

serve: $(VENV)/.installed-local ## Serve the search page and the API: BIND=127.0.0.1:8000
	@$(RUN) -m mnemosyne.local up || { echo "make serve stopped: the local services did not start (see above)."; exit 1; }
	@$(MANAGE) migrate --verbosity 0 && $(MANAGE) setup_models && $(MANAGE) setup_neo4j_indexes
	@exec $(MANAGE) serve --bind "$(BIND)"

stop: ## Stop Neo4j and the model server; the data are kept
	@if [ -x $(RUN) ]; then $(RUN) -m mnemosyne.local down; else echo "Nothing is installed here, so nothing runs."; fi

clean: stop ## Remove the packages and caches; the data in .mnemosyne are kept
	rm -rf $(VENV) $(BENCH_VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache staticfiles
	@if [ -d .mnemosyne ]; then echo "Kept: .mnemosyne (your data). Delete it by hand to begin anew."; fi

# A virtual environment by the first Python that is new enough and complete.
$(RUN):
	@found=""; \
	for candidate in $(PYTHON_CHOICES); do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    found="$$candidate"; break; \
	  fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "Python 3.11 or newer, with its venv module, is needed; tried: $(strip $(PYTHON_CHOICES))."; \
	  for candidate in $(PYTHON_CHOICES); do \
	    "$$candidate" -c 'import sys; print("  " + sys.executable, "is Python", sys.version.split()[0])' 2>/dev/null; \
	  done; \
	  echo "Install it (on Debian and Ubuntu: python3 and python3-venv), or name one: make PYTHON=/path/to/python3.12 ..."; \
	  exit 1; \
	fi; \
	echo "Creating $(VENV) with $$($$found --version)"; \
	"$$found" -m venv $(VENV) || { rm -rf $(VENV); echo "The virtual environment could not be created (see above)."; exit 1; }

# Installed again only when pyproject.toml changes. The development set includes the local one.
$(VENV)/.installed-local $(VENV)/.installed-dev: $(VENV)/.installed-%: pyproject.toml | $(RUN)
	@echo "Installing the packages of pyproject.toml [$*] into $(VENV): one to three minutes the first time"
	@$(RUN) -m pip --version >/dev/null 2>&1 || $(RUN) -m ensurepip
	@$(RUN) -m pip install --disable-pip-version-check --editable ".[$(if $(filter dev,$*),local$(comma)dev,$*)]" \
	  || { echo "Installing failed (see above). A network and about 1 GB of disk are needed; then run make again."; exit 1; }
	@touch $@ $(if $(filter dev,$*),$(VENV)/.installed-local)

# The peers need packages that the project does not: they live apart, with the project beside them.
$(BENCH_VENV)/.installed: pyproject.toml benchmarks/requirements.txt | $(RUN)
	@echo "Installing the project and its peers into $(BENCH_VENV): two to four minutes the first time"
	@test -x $(BENCH_VENV)/bin/python || $(RUN) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[local]" \
	  --requirement benchmarks/requirements.txt || { echo "Installing failed (see above)."; exit 1; }
	@touch $@
