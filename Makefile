# Gatehouse: run `make help` for what there is. Needs npm (Node 20 or newer); Node 24 itself comes from npm.
# Tests that need Kafka, and `KAFKA=1 make up`, also need Java 17 and Maven, or KAFKA_BROKERS.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help install up dev test test-changed test-outside lint lint-rules lint-format lint-structure gen bench
.PHONY: packages-to-run login backup restore pages cli images test-statements test-hostile test-cluster clean

# The project's own Node 24 and tools. `npm ci` runs on the machine's Node, since it replaces this folder.
BIN := $(CURDIR)/node_modules/.bin
# Node keeps compiled code here: a third less CPU for each process that starts again.
WITH_TOOLS := NODE_COMPILE_CACHE="$(CURDIR)/node_modules/.cache/node" PATH="$(BIN):$$PATH"
JEST := npm run --silent test --
INSTALL := command -v npm >/dev/null || { echo "npm is missing: install Node 20 or newer, which brings it."; exit 1; }; node deploy/local/install.js

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

install: ## Install all packages, if they are not; `make up` installs those that running needs
	@$(INSTALL) all

# Those without tests and linters, for targets that only run Gatehouse; all of them where all are installed.
packages-to-run:
	@$(INSTALL) running

up: packages-to-run ## Start the whole system here; PORT, GATEHOUSE_STATE, GATEHOUSE_REPLICAS, OPENAI_API_KEY, KAFKA=1, …
	@$(WITH_TOOLS) exec node --max-semi-space-size=2 deploy/local/up.ts

dev: install ## As `make up`; a service restarts when its code changes. INSPECT=chat opens it to a debugger
	@DRAIN_TIMEOUT_MS=$${DRAIN_TIMEOUT_MS:-500} DRAIN_DELAY_MS=$${DRAIN_DELAY_MS:-0} $(WITH_TOOLS) exec node --max-semi-space-size=2 deploy/local/up.ts --watch

login: packages-to-run ## Print a link that logs a browser in at the running `make up`, once and within a minute
	@$(WITH_TOOLS) node deploy/local/login.ts

backup: packages-to-run ## Write the data and secrets of `make up`, running or not, into one file; FILE names it
	@$(WITH_TOOLS) node deploy/local/backup.ts

restore: packages-to-run ## Make a new state folder of `make up` from a backup: FILE=gatehouse-….tar.gz GATEHOUSE_STATE=…
	@$(WITH_TOOLS) node deploy/local/restore.ts

test: install ## Run all tests, or some: make test ARGS="services/chat -t fallback"
	@$(WITH_TOOLS) $(JEST) $(ARGS)

test-changed: install ## Run the tests that the changes since main reach: a few minutes; BASE names another commit, LIST=1 only lists them
	@$(WITH_TOOLS) node test/changed/run.ts

test-statements: install ## Explain every statement of a store that `make test` has recorded, beside the rows of 3,000 tenants; ARGS=--partial for those of single test files
	@$(WITH_TOOLS) node test/statements/audit.ts $(ARGS)

test-outside: install ## Run tests with tools of other ecosystems; what this machine lacks is skipped
	@bash test/outside/run.sh

lint: install ## Check types, rules, format, words, dependencies and unused code
	@$(MAKE) --no-print-directory -j 2 -k lint-rules lint-format lint-structure

# Types as well.
lint-rules:
	$(WITH_TOOLS) oxlint .

lint-format:
	$(WITH_TOOLS) oxfmt --check .

lint-structure:
	$(WITH_TOOLS) node lint/words.ts
	$(WITH_TOOLS) node lint/glossary.ts
	$(WITH_TOOLS) node lint/subjects.ts
	$(WITH_TOOLS) node lint/workspaces.ts
	$(WITH_TOOLS) node lint/joined-arrays.ts
	$(WITH_TOOLS) node lint/links.ts
	$(WITH_TOOLS) node lint/kept-migrations.ts
	$(WITH_TOOLS) depcruise packages services deploy charts lint test proto/gen
	$(WITH_TOOLS) knip
	cd proto && $(WITH_TOOLS) buf lint

gen: install ## Generate code from proto/, the OpenAPI document, the chart's table of values, and the tables of what reaches models and what is known of them
	cd proto && $(WITH_TOOLS) buf generate
	@$(WITH_TOOLS) node packages/contract/openapi/generate.ts
	@$(WITH_TOOLS) node charts/services.ts
	@$(WITH_TOOLS) node charts/readme.ts
	@$(WITH_TOOLS) node services/chat/test/write-capabilities.ts
	@$(WITH_TOOLS) node packages/dialects/test/write-facts.ts
	@$(WITH_TOOLS) oxfmt charts/gatehouse docs/operators/models.md docs/tenants/dialects.md

bench: pages ## Measure the whole path against a provider that answers at once, many tenants beside one, policies, guardrails, each dialect with each API, many streams at once, analytics, the knowledge graph, how well and how fast searches find, webhooks, channels, tools and transfers, the calls of pages, a tenant beside one that attacks, what grows in ten minutes, and on paper how far all of it grows
	@BENCH_PROCESSES=one BENCH_CORES=1 $(WITH_TOOLS) node test/bench/run.ts
	@BENCH_PROCESSES=separate $(WITH_TOOLS) node test/bench/run.ts
	@$(WITH_TOOLS) node test/bench/tenants.ts
	@$(WITH_TOOLS) node test/bench/policies.ts
	@$(WITH_TOOLS) node test/bench/guardrails.ts
	@$(WITH_TOOLS) node test/bench/dialects.ts
	@$(WITH_TOOLS) node test/bench/streams.ts
	@$(WITH_TOOLS) node test/bench/analytics.ts
	@$(WITH_TOOLS) node test/bench/graph.ts
	@$(WITH_TOOLS) node test/bench/retrieval.ts
	@$(WITH_TOOLS) node test/bench/recall.ts
	@$(WITH_TOOLS) node test/bench/chatty-recall.ts
	@$(WITH_TOOLS) node test/bench/search.ts
	@$(WITH_TOOLS) node test/bench/webhooks.ts
	@$(WITH_TOOLS) node test/bench/channels.ts
	@$(WITH_TOOLS) node test/bench/tools.ts
	@$(WITH_TOOLS) node test/bench/transfers.ts
	@$(WITH_TOOLS) node test/bench/pages.ts
	@$(WITH_TOOLS) node test/bench/neighbours.ts
	@$(WITH_TOOLS) node test/bench/soak.ts
	@$(WITH_TOOLS) node test/bench/growth.ts

pages: install ## Build the pages that the edge serves under /app/, which `make up` and tests do themselves
	@$(WITH_TOOLS) node packages/web/build.ts

cli: install ## Pack the command line for `npx` into gatehouse-<version>.tgz, which needs Node 20 alone
	@$(WITH_TOOLS) npm pack --workspace gatehouse --silent

release: node_modules/.package-lock.json ## Make dist/gatehouse-<version> of the commit: the command line, bills of materials, licences, digests; twice the same
	@$(WITH_TOOLS) node deploy/release/release.ts

images: ## Build the image of every service; IMAGE_BUILD, IMAGE_LOAD, REGISTRY, IMAGE_PREFIX, IMAGE_TAG: see deploy/images.sh
	@bash deploy/images.sh

test-hostile: install ## Attack one process in every way a tenant can, while another one's streams must be on time, then one process and several, while another one's requests must; and play all conversations that change their model, also while the gateway is killed; and hold policies while processes are killed and stalled; and split secrets at every place of streams and requests: alone on the machine, thirty minutes
	@HOSTILE=full $(WITH_TOOLS) npm run --silent test:file -- test/hostile/peers.test.ts test/hostile/neighbours.test.ts test/conversations/conversations.test.ts test/chaos/conversations.test.ts test/chaos/policies.test.ts services/chat/test/guarded-cases.test.ts --runInBand

test-cluster: install ## Build the images, install the chart on the cluster of KUBECONFIG and put it through every drill
	@$(WITH_TOOLS) node test/cluster/run.ts

clean: ## Remove installed packages; the state of `make up` stays
	rm -rf node_modules coverage
