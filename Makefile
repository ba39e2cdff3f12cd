# The front door. Every target installs the Debian packages it misses (as root or with sudo).
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run build library build-examples test test-quick test-tsan simulate fuzz chaos-outbox powercut bench bench-quick profile lint format clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build, then run the proxy with the embedded store in front of the demo order service
	build/release/onceward demo --keep --store file:./onceward-data

build: ## build the program: build/release/onceward
	@scripts/install-deps build test
	@scripts/build release onceward

library: ## build what `cmake --install build/release` installs: the program and the C++ library
	@scripts/install-deps build test
	@scripts/build release onceward onceward_static onceward_shared

build-examples: ## build the example services: build/release/examples
	@scripts/install-deps build test
	@scripts/build release onceward orders-easy orders-mature orders-production payments

test: ## build and run everything that is checked on every change
	@scripts/install-deps build test browser
	@scripts/test

test-quick: ## unit tests and conformance only, with the sanitizers
	@scripts/install-deps build test
	@scripts/build dev all
	@ctest --test-dir build/dev --output-on-failure --no-tests=error -j2 -LE slow

test-tsan: ## unit, conformance and integration tests under ThreadSanitizer
	@scripts/install-deps build test
	@scripts/test-tsan

simulate: ## more seeds of the simulation: make simulate SEEDS=1000000
	@scripts/install-deps build test
	@scripts/build release onceward_simulation
	build/release/onceward_simulation --seeds $(or $(SEEDS),1000000)

fuzz: ## each fuzzer for SECONDS (60)
	@scripts/install-deps build test
	@scripts/fuzz $(or $(SECONDS_EACH),60)

chaos-outbox: ## kill the proxy 300 times while it tells events: KILLS=300
	@scripts/install-deps build test
	@scripts/build release onceward
	ONCEWARD_OUTBOX_KILLS=$(or $(KILLS),300) tests/integration/run test_outbox_kills.py -s

powercut: ## cut the power of a mounted image again and again (root, loop devices)
	@scripts/install-deps build test
	@scripts/build release all
	@tests/powercut/run

bench: ## compare with nginx, haproxy, node peers, redis-benchmark and pgbench in one run (15 minutes), into docs/benchmarks
	@scripts/install-deps build test bench
	@scripts/build release onceward store_claims upstream
	@bench/run --output comparison

bench-quick: ## only the cases of the budget (3 minutes)
	@scripts/install-deps build test bench
	@scripts/build release onceward store_claims upstream
	@bench/run --quick

profile: ## record anew how requests go through the program, for the compiler (8 minutes): cmake/request_path.profdata
	@scripts/install-deps build test bench profile
	@scripts/record-profile

lint: ## clang-format and clang-tidy
	@scripts/install-deps build test lint
	@scripts/lint

format: ## format the sources
	@scripts/install-deps build lint
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 -i

clean: ## remove what was built
	rm -rf build
