# make demo   lint the bundled project in fixtures/demo and show what --fix would change
# make test   style, types and tests, but for the slow tests; what to run before each commit
# make test-all  the slow tests too: exhaustive tables, and searches at random
# make lint   the style and type checks alone
# make docs   rewrite the table of what rules ask for, the rule table and the command output shown in README.md and docs/
# make bug    look for the code of new rows of rules/bugs in the archives and run the tests of one: PACKAGE=trl NAME=trl-…
# make rule   begin a rule: CODE=TRL606 NAME=some-name writes its module, page and fixtures, with what is yours marked
# make refresh  read what is new on the index of PACKAGE="trl transformers" into rules/, and run `make docs`
# make oracle ask real installations of many releases what they refuse, which are put into ORACLE_FOLDER=folder (7 GB, slow);
#             PACKAGE="trl peft" asks some of them, CONFIGS=100 of fewer configs; with MIRROR=clones and
#             ORACLE_PYTHON=env/bin/python the drift rules against public repositories as well: see benchmarks/notebook.md
# make golden  compare the findings of the fixtures and of some public trees (MIRROR=clones) with those that are kept and were
#             read; ARGS=--write keeps the new state
# make bench  measure what the rules cost, and whole runs beside other linters; ARGS="path/to/a/tree another/one" adds
#             real trees, PEERS="env/bin/python other/bin/python" the environments that have the other linters.
#             bench-peers, bench-growth and bench-logs measure one thing and keep it, bench-report writes it down:
#             see benchmarks/README.md
# make links  how many of the files that launch commands name are found in TREES="folder folder …"
# make overlaps  what two rules say about one defect in TREES="folder folder …"
# make site   build the documentation site into build/site, with an environment of its own, and look after every link in it
# make prose  spelling, grade and long sentences of all pages, beside what is recorded in website/prose.json
# make pages   open the pages of TREES="folder folder …" (the demo) in a headless Chromium and keep pictures in build/pages;
#             BROWSER_PYTHON names an interpreter with playwright
# make editors  follow docs/editors.md in real editors, which are put into EDITORS=folder (1.3 GB, 10 minutes; the first lines
#             of benchmarks/editors/install.py say what has to be there), and write down what they showed, with pictures
# make torture  check and repair everything there is, whole and broken: the standard library, edited fixtures, edited bytes
#             of every kind of file, and TREES="folder folder …"; and measure how the work grows; slow
#
# Each sets up .venv when pyproject.toml asks for it (the demo .venv-demo, the site .venv-site), and leaves the system's Python alone.

# The first interpreter that is new enough; `make test PYTHON=/path/to/python` overrides.
PYTHON := $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then echo $$name; break; fi; done)

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEMO := .venv-demo
DEMO_LINT := PYTHONPATH="$(CURDIR)" PYTHONDONTWRITEBYTECODE= $(abspath $(DEMO))/bin/python -m trl_lint

# An environment in the folder that follows, or a line that says what is missing.
define MAKE_VENV
test -n "$(PYTHON)" || { echo "trl-lint needs Python 3.10 or newer, and none was found on PATH." >&2; \
		echo "Install one, or name it: make $(or $(MAKECMDGOALS),test) PYTHON=/path/to/python3" >&2; exit 1; }; \
	make_venv() { $(PYTHON) -m venv "$$1" || { echo "$(PYTHON) cannot make a virtual environment." \
		"On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; }; make_venv
endef

SITE := .venv-site

.PHONY: site prose bug rule refresh demo test test-all pytest lint docs golden bench bench-peers bench-growth bench-logs bench-report oracle links overlaps pages torture editors clean

# A linter that finds something exits with 1: that is what the demo is for. Anything else is a failure.
demo: $(DEMO)/.installed
	@cd fixtures/demo && $(DEMO_LINT) . || test $$? -eq 1
	@echo
	@cd fixtures/demo && $(DEMO_LINT) . --fix --diff || test $$? -eq 1

# What the tool needs and nothing else, and the code from here: half a minute less than `.venv` takes.
$(DEMO)/.installed: pyproject.toml
	@$(MAKE_VENV) $(DEMO)
	@sed -n '/^dependencies = \[/,/^]/s/^ *"\(.*\)",$$/\1/p' pyproject.toml > $(DEMO)/requirements.txt
	@$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $(DEMO)/requirements.txt
	@touch $@

site: $(SITE)/.installed
	@rm -rf build/site
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH="$(CURDIR)" $(SITE)/bin/python -m mkdocs --quiet build --config-file website/mkdocs.yml
	@$(SITE)/bin/python website/links.py build/site

prose: $(SITE)/.installed
	@$(SITE)/bin/python -W ignore website/prose.py $(ARGS)

$(SITE)/.installed: website/requirements.txt
	@$(MAKE_VENV) $(SITE)
	@$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check --requirement website/requirements.txt
	@touch $@

# Style and types on one core, until the tests need both.
test: $(INSTALLED)
	@$(MAKE) --no-print-directory --jobs=2 lint pytest

test-all: $(INSTALLED)
	@$(MAKE) --no-print-directory --jobs=2 lint pytest WHICH='-m ""'

pytest: $(INSTALLED)
	$(BIN)/python -m pytest $(WHICH) $(ARGS)

lint: $(INSTALLED)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

bug: $(INSTALLED)
	$(BIN)/python -m trl_lint.knowledge.refresh bugs $(PACKAGE)
	$(BIN)/python -m pytest -n0 -q tests/knowledge/test_known_bugs.py -k "$(NAME)"

rule: $(INSTALLED)
	@$(BIN)/python tests/new_rule.py $(CODE) $(NAME)
	@$(MAKE) --no-print-directory docs

# Without PACKAGE: of every package, which takes long.
refresh: $(INSTALLED)
	$(BIN)/python -m trl_lint.knowledge.refresh all $(PACKAGE)
	@$(MAKE) --no-print-directory docs

docs: $(INSTALLED)
	$(BIN)/python -m trl_lint.checks.registry --write
	$(BIN)/python -m trl_lint.knowledge.needles --write
	$(BIN)/python -m trl_lint.knowledge.tables --write docs/rules.md
	$(BIN)/python -m trl_lint.knowledge.condition_tables --write
	$(BIN)/python tests/documents.py
	$(BIN)/python tests/picture.py
	$(BIN)/python tests/settings_schema.py

# Releases of every package are put into ORACLE_FOLDER and asked what they refuse (PACKAGE: of some packages only; CONFIGS:
# how many of a class). MIRROR holds clones as owner+name, for precision; ORACLE_PYTHON is an interpreter beside which TRL is
# really installed, for recall: what is not given is left out. The results are kept as data, so that a change of them is
# seen; a finding that is false, missed or was not read is a failure.
RESULTS := benchmarks/results

CONFIGS := 500

oracle: $(INSTALLED)
	@test -n "$(ORACLE_FOLDER)$(MIRROR)" || { \
		echo "make oracle ORACLE_FOLDER=folder [MIRROR=folder-with-clones [ORACLE_PYTHON=env/bin/python]]" >&2; exit 1; }
	@failed=0; \
	test -z "$(ORACLE_FOLDER)" || $(BIN)/python -m benchmarks.oracle_releases --folder "$(ORACLE_FOLDER)" \
		--configs $(CONFIGS) $(PACKAGE) || failed=1; \
	test -z "$(MIRROR)" || { \
		$(BIN)/python -m benchmarks.precision --mirror "$(MIRROR)" > $(RESULTS)/precision.txt || failed=1; \
		$(BIN)/python -m benchmarks.projects --mirror "$(MIRROR)" > $(RESULTS)/projects.txt || failed=1; \
		test -z "$(ORACLE_PYTHON)" || $(BIN)/python -m benchmarks.recall --mirror "$(MIRROR)" \
			--python "$(ORACLE_PYTHON)" > $(RESULTS)/recall.txt || failed=1; }; \
	tail -n 3 $(RESULTS)/*.txt $(RESULTS)/refusals/*.txt; test $$failed -eq 0

golden: $(INSTALLED)
	@test -n "$(MIRROR)" || { echo 'make golden MIRROR=folder-with-clones [ARGS=--write]' >&2; exit 1; }
	@$(BIN)/python -m benchmarks.golden --mirror "$(MIRROR)" $(ARGS)

# Nothing is installed for a benchmark: a linter that is in none of the environments is left out.
WITH_PEERS = $(foreach python,$(PEERS),--peers-python $(python))

bench: $(INSTALLED)
	@failed=0; \
	$(BIN)/python -m benchmarks $(ARGS) || failed=1; \
	$(BIN)/python -m benchmarks.peers $(WITH_PEERS) $(ARGS) || failed=1; \
	test $$failed -eq 0

bench-peers: $(INSTALLED)
	@$(BIN)/python -m benchmarks.peers --output $(RESULTS)/peers.json $(WITH_PEERS) $(ARGS)

bench-growth: $(INSTALLED)
	@$(BIN)/python -m benchmarks.growth --output $(RESULTS)/growth.json $(ARGS)

bench-logs: $(INSTALLED)
	@$(BIN)/python -m benchmarks.logs --output $(RESULTS)/logs.json $(ARGS)

bench-report: $(INSTALLED)
	@$(BIN)/python -m benchmarks.report --write

links: $(INSTALLED)
	@test -n "$(TREES)" || { echo 'make links TREES="folder folder …"' >&2; exit 1; }
	@$(BIN)/python benchmarks/links.py $(TREES)

overlaps: $(INSTALLED)
	@test -n "$(TREES)" || { echo 'make overlaps TREES="folder folder …"' >&2; exit 1; }
	@$(BIN)/python -m benchmarks.overlaps $(TREES)

TREES_OF_PAGES = $(or $(TREES),fixtures/demo)

pages: $(INSTALLED)
	@test -n "$(BROWSER_PYTHON)" || { echo 'make pages BROWSER_PYTHON=env/bin/python [TREES="folder folder …"]' >&2; exit 1; }
	@mkdir -p build/pages; for tree in $(TREES_OF_PAGES); do name="$$(basename "$$tree")"; to="$(CURDIR)/build/pages/$$name"; \
		( cd "$$tree" && PYTHONPATH="$(CURDIR)" "$(abspath $(BIN))/python" -m trl_lint --exit-zero --silent --no-cache \
			--output-format html --output-file "$$to.html"; \
		PYTHONPATH="$(CURDIR)" "$(abspath $(BIN))/python" -m trl_lint runs --html "$$to-runs.html" ); done
	@$(BROWSER_PYTHON) -m benchmarks.pages build/pages build/pages/*.html
editors: $(INSTALLED)
	@test -n "$(EDITORS)" || { echo 'make editors EDITORS=folder' >&2; exit 1; }
	@$(BIN)/python -m benchmarks.editors --folder "$(EDITORS)" --output $(RESULTS)/editors.json --write

torture: $(INSTALLED)
	@failed=0; \
	$(BIN)/python -m benchmarks.torture $(TREES) || failed=1; \
	$(BIN)/python -m benchmarks.byte_edits || failed=1; \
	$(BIN)/python -m benchmarks.faults || failed=1; \
	$(BIN)/python -m benchmarks.oracle $(TREES) || failed=1; \
	$(BIN)/python -m benchmarks.fix_safety $(TREES) || failed=1; \
	$(BIN)/python -m benchmarks.edits $(TREES) || failed=1; \
	$(BIN)/python -m benchmarks.histories --count 2000 --server || failed=1; \
	$(BIN)/python -m benchmarks.histories --count 2000 || failed=1; \
	$(BIN)/python -m benchmarks.growth_laws --output $(RESULTS)/growth_laws.json || failed=1; \
	test $$failed -eq 0

$(INSTALLED): pyproject.toml
	@$(MAKE_VENV) $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[flake8,test]'
	@touch $@

clean:
	rm -rf $(VENV) $(DEMO) $(SITE) build dist .mypy_cache .pytest_cache .ruff_cache
