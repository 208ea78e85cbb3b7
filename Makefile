# Everything a developer does. `make demo` and `make test` set up what they need.
VENV := .venv
BIN := $(VENV)/bin
SEED ?= 1
PYTEST_ARGS ?=
WORKERS ?= 2

.DEFAULT_GOAL := help
KILLS ?= 200
CHAOS_SEED ?= 20261130
DATA ?= ../shared/data
.PHONY: help setup demo test chaos e2e lint types imports format bench bench-journal traces golden-traces conventions package \
    requirements image proto train reader clean

help: ## Show the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/.done ## Make .venv with the command otel-raglog in it (PYTHON=... chooses the interpreter)

$(VENV)/.done: pyproject.toml requirements/dev.txt requirements/uv.txt scripts/setup.sh
	@scripts/setup.sh $(PYTHON)

demo: setup ## Replay bundled traces through a real service and print its verdicts
	@$(BIN)/otel-raglog demo

test: setup ## Run the tests, several at once (WORKERS=0: one after the other)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

chaos: setup ## Kill a service under load at random moments, and count what is missing (KILLS=200)
	$(BIN)/python tests/support/chaos.py --kills $(KILLS) --seed $(CHAOS_SEED)

lint: setup ## Lint, format check, types, import contracts, tests mirror sources
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_twins.py
	$(BIN)/python scripts/write_reference.py --check
	$(BIN)/python scripts/write_conventions.py --check
	$(BIN)/python scripts/write_connecting.py --check
	$(BIN)/python scripts/write_measurements.py --check
	$(BIN)/python scripts/write_calls.py --check
	$(BIN)/python scripts/write_dashboards.py --check

format: setup ## Format the code
	$(BIN)/ruff check --fix-only --exit-zero .
	$(BIN)/ruff format .

e2e: setup ## Replay the bundled traces into real Phoenix and MLflow servers, watched by a real Prometheus
	@scripts/e2e.sh $(PYTEST_ARGS)

bench: setup ## Measure the pipe against rotel, and CPU per run of each part (prints tables)
	$(BIN)/python tests/bench/pipe.py
	$(BIN)/python tests/bench/analysis.py
	$(BIN)/python tests/bench/conventions.py
	$(BIN)/python tests/bench/mapping.py
	$(BIN)/python tests/bench/compression.py
	$(BIN)/python tests/bench/bridge_overhead.py

bench-journal: setup ## Measure the journal's store against a bare write and SQLite
	$(BIN)/python tests/bench/journal_stores.py

traces: ## Run the sample applications and write the bundled traces anew (SEED=1)
	tests/apps/run.sh $(SEED) otel_raglog/samples

golden-traces: ## Run real applications under real instrumentations and write the golden traces anew (ENVS="...", ONLY=...)
	tests/apps/conventions/run.sh $(ENVS)

conventions: setup ## Write docs/reference/conventions.md anew from the golden traces, and the table in docs/connecting.md
	$(BIN)/python scripts/write_conventions.py
	$(BIN)/python scripts/write_connecting.py

package: setup ## Build the wheel from the sdist and try it elsewhere
	scripts/check_package.sh

requirements: setup ## Resolve the hashed requirements anew
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header --no-annotate --extra dev --output-file requirements/dev.txt pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header --no-annotate --output-file tests/e2e/requirements.txt tests/e2e/requirements.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header --no-annotate --output-file tests/apps/requirements.txt tests/apps/requirements.in
	for needs in tests/apps/conventions/envs/*/requirements.in; do \
	    $(BIN)/uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url \
	        --no-header --no-annotate --output-file $${needs%.in}.txt $$needs; done
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header --no-annotate --constraint requirements/dev.txt --extra service --extra judge \
	    --output-file requirements/service.txt pyproject.toml
	echo 'hatchling>=1.25' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-header --no-annotate --constraint requirements/dev.txt \
	    --output-file requirements/build.txt -
	grep -A 40 '^uv==' requirements/dev.txt | awk 'NR > 1 && /^[a-z]/ {exit} {print}' > requirements/uv.txt

image: ## Build and start the container image on a stand-in base (root, Debian; apt: buildah debootstrap)
	scripts/build_image.sh build/image

proto: setup ## Generate the _pb2.py files anew
	$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. otel_raglog/receive/thin.proto \
	    otel_raglog/journal/journal.proto

train: setup ## Train the bundled detectors anew on the judged runs beside the project (DATA=../shared/data)
	@for file in judged judge-answers; do [ -f $(DATA)/runs/$$file.jsonl.gz ] || \
	    { echo "train: $(DATA)/runs/$$file.jsonl.gz is missing: it lies beside this project" >&2; exit 2; }; done
	$(BIN)/otel-raglog train $(DATA)/runs/judged.jsonl.gz --out otel_raglog/detect/artifacts/local --name local
	OTEL_RAGLOG_ANALYSIS__CHECKS='[rules, similarity]' \
	    $(BIN)/otel-raglog train $(DATA)/runs/judged.jsonl.gz --out otel_raglog/detect/artifacts/light --name light
	$(BIN)/otel-raglog train $(DATA)/runs/judged.jsonl.gz --out otel_raglog/detect/artifacts/llm-recorded --name llm-recorded \
	    --judge-answers $(DATA)/runs/judge-answers.jsonl.gz --judge-model claude --judge-for '*claude*' \
	    --judge-provenance "recorded answers of a strong LLM, a Claude model whose exact name was not recorded, to the five checks of judge-schema.md; one answer a check and run"

reader: ## Make the small cross-encoder anew in build/reader, in 80 minutes or so (DATA=../shared/data)
	training/reader/run.sh $(DATA)

clean: ## Remove what the targets above made
	rm -rf $(VENV) .traces-venv .traces-venvs .e2e-venv training/reader/.venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
