# Every target works from a bare clone: the environment is made on first use.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
# Where torch comes from: the CPU build by default. For CUDA: make demo TORCH_INDEX=https://download.pytorch.org/whl/cu130
# If that index can't be reached, pip's own configured index is used.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH  := torch==2.13.0
SEED   ?= 0
ENGINE ?= embedded
READY  := $(VENV)/.ready
# LiteLLM can't share an environment with the newest openai.
LITELLM := $(VENV)-litellm
# The official MCP SDK and the reference servers, for the tests of the tool leg: pinned, with hashes.
MCP    := $(VENV)-mcp
MCP_SERVERS := tests/gateway/stdio/node/node_modules/.package-lock.json
# FastMCP, for the benchmark of tools only.
FASTMCP := $(VENV)-fastmcp
# vLLM has an environment of its own too: the CPU build, or upstream's with make vllm VLLM_BUILD=cuda
VLLM   := $(VENV)-vllm
VLLM_BUILD ?= cpu
# TRL, datasets and verl's batch, for the tests of exports: `make trl`, about 1.5 GB on disk. CI doesn't need it.
TRL    := $(VENV)-trl
# Ray, for the test of its launcher: `make ray`, about 0.65 GB on disk beside $(VENV), whose torch it takes. CI doesn't need it.
RAY    := $(VENV)-ray
# What make test runs, and whether vLLM's tests are among it.
TESTS  ?= not slow
WITH_VLLM ?= 1
# What make check runs: noise, the data plane, the record, and what is public.
CHECKED := tests/injectors tests/public tests/differential tests/gateway/noise tests/gateway/protocols tests/gateway/proxy \
  tests/gateway/sessions tests/gateway/turn tests/gateway/trajectory/test_recorded_stores.py tests/gateway/trajectory/test_store.py tests/gateway/trajectory/contract
NODE   := tests/clients/node/node_modules/.package-lock.json

.PHONY: demo check test test-all lint format warmup bench-store bench-gateway bench-engine bench-trainer bench-soak attack clients clients-elsewhere vllm trl ray catalogue bench-noise noise-quality bench-tools tool-servers mitmproxy clean

# With ENGINE=vllm real vLLM serves the policy, in the environment that `make vllm` makes.
demo: $(READY) $(if $(filter vllm,$(ENGINE)),vllm)
	$(BIN)/crosswind demo --engine $(ENGINE) --seed $(SEED)

# Lint, types, and the tests that matter most: in at most two minutes on two idle cores.
check: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow and not vllm" $(CHECKED)

# vLLM's tests share one engine, and swap its policy while streams go on: beside others they would be starved. Two
# processes on two cores want one thread each. Where vLLM
# can't be installed, the rest is tested all the same, and the last pytest ends with 69.
test: $(READY) tool-servers
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "($(TESTS)) and not vllm"
	$(if $(WITH_VLLM),-@$(MAKE) --no-print-directory vllm)
	$(if $(WITH_VLLM),OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "($(TESTS)) and vllm")

test-all:
	EXPLORE=1 $(MAKE) --no-print-directory test TESTS="slow or not slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-store: $(READY)
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.store_growth

# What noise costs a turn, beside one JSON decode of the same body: a few seconds.
bench-noise: $(READY)
	$(BIN)/python -m benchmarks.noise

# A tool call on each way: direct, our relay, our routes, FastMCP's proxy, mitmproxy without and with our addon. On an idle
# machine about two minutes, after FastMCP's installation into an environment of its own. With QUICK=1 under one, and
# docs/benchmarks.md stays as it is.
bench-tools: $(READY) $(FASTMCP)/.ready $(MCP_SERVERS) mitmproxy
	$(BIN)/python -m benchmarks.tools --fastmcp $(FASTMCP)/bin/python $(if $(QUICK),--calls 200,--out docs/benchmarks.md)

# The gateway beside nginx, a bare relay and LiteLLM, on an idle machine: about 12 minutes, after LiteLLM's installation into
# an environment of its own; then in pairs with an earlier commit, which gets one, too. With QUICK=1 under 5 minutes, and
# docs/benchmarks.md stays as it is.
bench-gateway: $(READY)
	$(BIN)/python -m benchmarks.gateway $(if $(QUICK),--quick,--out docs/benchmarks.md)
	$(BIN)/python -m benchmarks.gateway.pairs $(if $(QUICK),--slices 2,--out docs/benchmarks.md)

# Policies on vLLM: swaps, and what the gateway adds. On an idle machine, about 8 minutes; with QUICK=1 under 4.
bench-engine: $(READY) vllm
	$(BIN)/python -m benchmarks.engine $(if $(QUICK),--quick,--out docs/benchmarks.md)

# The trainer's step beside TRL's on the same rollouts: about ten minutes on an idle machine, after TRL's installation
# into an environment of its own; CROSSWIND_TRL_ENV names one that is there. With QUICK=1 under four, and
# docs/benchmarks.md stays as it is.
bench-trainer: $(READY) $(if $(CROSSWIND_TRL_ENV),,$(TRL)/.ready)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.trainer --trl $(or $(CROSSWIND_TRL_ENV),$(TRL)) $(if $(QUICK),--quick,--out docs/benchmarks.md)

# Every client in every cell of its lines, written into docs/clients.md. Needs Node 18 with npm, and curl.
clients: $(READY) $(NODE) $(LITELLM)/.ready
	LITELLM_VENV=$(LITELLM) $(BIN)/python -m tests.clients.matrix --out docs/clients.md

# Only the clients that `make test` can't lead, since they don't run in its environment.
clients-elsewhere: $(READY) $(NODE) $(LITELLM)/.ready
	LITELLM_VENV=$(LITELLM) $(BIN)/python -m tests.clients.matrix --elsewhere

# Memory of one worker: with 2,000 open streams, and over a long run.
bench-soak: $(READY)
	$(BIN)/python -m benchmarks.soak

# Kills, faults of the disk, hostile bytes and a long run against a gateway of its own, on loopback: about ten minutes.
# docs/attack.md has what it tries, and the whole campaign.
attack: $(READY)
	$(BIN)/python -m benchmarks.attack --seed $(SEED)

# How the noise fares on material that its authors have not read, into docs/noise-quality.md: about five minutes, after a
# download of 2 MB from PyPI. With CHECK=1 a missed aim is an error.
noise-quality: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.noise_quality solve
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.noise_quality --out docs/noise-quality.md $(if $(CHECK),--check)

# What other libraries read out of exported files. Without this environment its tests are skipped, and say so.
trl: $(TRL)/.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m trl tests/trainer/exports

# A run under Ray Train. Without this environment its test is skipped, and says so.
ray: $(RAY)/.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "slow or not slow" tests/trainer/workers/test_launchers.py

# The table of every kind of noise, into docs/noise-catalogue.md: on which protocols each acts is found out by running.
# And what users say under noise, into docs/noise-examples.md.
catalogue: $(READY)
	$(BIN)/python -m tests.catalogue.table
	$(BIN)/python -m tests.catalogue.examples

# Makes the policy that the package ships anew: about four minutes on one core.
warmup: $(READY)
	rm -rf runs/warmup && mkdir -p runs/warmup
	$(BIN)/crosswind rollout demonstrate --environment retail --split train --count 16000 --seed 0 \
	  --out runs/warmup/demonstrations.jsonl
	OMP_NUM_THREADS=1 $(BIN)/crosswind train imitation --demonstrations runs/warmup/demonstrations.jsonl \
	  --out runs/warmup/retail --seed 0
	@echo "policies/pretrained/retail was made so; copy runs/warmup/retail there to replace it"

# vLLM's environment, from locks with hashes: a minute or two the first time, nothing where it is up to date.
vllm:
	@"$(PYTHON)" -m crosswind.policies.vllm.environment --into $(VLLM) --build $(VLLM_BUILD)

clean:
	rm -rf $(VENV) $(LITELLM) $(VLLM) $(TRL) $(RAY) $(MCP) $(FASTMCP) tests/clients/node/node_modules tests/gateway/stdio/node/node_modules build dist runs

$(READY): pyproject.toml constraints.txt
	@echo "Installing into $(VENV): about 0.5 GB is downloaded with CPU torch, 1.5 GB on disk (about 3 GB and 7 GB with CUDA)."
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11) and "Crosswind needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --no-deps --retries 0 --index-url $(TORCH_INDEX) $(TORCH) || { \
	  echo "$(TORCH_INDEX) gave no $(TORCH): taking it from pip's own index"; \
	  $(BIN)/python -m pip install --quiet --no-deps $(TORCH); }
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all]" --group dev
	@touch $@

$(TRL)/.ready: tests/trainer/exports/requirements.txt $(READY)
	"$(PYTHON)" -m venv $(TRL)
	$(TRL)/bin/python -m pip install --quiet --no-deps --retries 0 --index-url $(TORCH_INDEX) $(TORCH) || \
	  $(TRL)/bin/python -m pip install --quiet --no-deps $(TORCH)
	$(TRL)/bin/python -m pip install --quiet --no-deps --require-hashes --requirement $<
	$(TRL)/bin/python -m pip install --quiet --no-deps "verl==0.9.1"
	@touch $@

$(RAY)/.ready: $(READY)
	"$(PYTHON)" -m venv $(RAY)
	$(RAY)/bin/python -m pip install --quiet "ray[train]==2.60.0"
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > "$$($(RAY)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/main.pth"
	@touch $@

$(LITELLM)/.ready:
	@echo "Installing LiteLLM into $(LITELLM): about 0.75 GB on disk."
	"$(PYTHON)" -m venv $(LITELLM)
	$(LITELLM)/bin/python -m pip install --quiet "litellm[proxy]==1.106.2"
	@touch $@

$(FASTMCP)/.ready:
	"$(PYTHON)" -m venv $(FASTMCP)
	$(FASTMCP)/bin/python -m pip install --quiet "fastmcp==4.1.2"
	@touch $@

tool-servers: $(MCP)/.ready $(MCP_SERVERS) mitmproxy

# Where mitmproxy can't be installed, its tests are skipped, and say so.
mitmproxy: $(READY)
	-@$(BIN)/python -m crosswind.gateway.forward.environment

$(MCP)/.ready: tests/gateway/stdio/requirements.txt
	"$(PYTHON)" -m venv $(MCP)
	$(MCP)/bin/python -m pip install --quiet --require-hashes --requirement tests/gateway/stdio/requirements.txt
	@touch $@

# Without npm the tests of these servers are skipped, and say so.
$(MCP_SERVERS): tests/gateway/stdio/node/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix tests/gateway/stdio/node --ignore-scripts --no-fund --no-audit; fi

# Without npm there is nothing to install: the matrix itself says what is missing, and ends with 3.
$(NODE): tests/clients/node/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix tests/clients/node --ignore-scripts --no-fund --no-audit; fi
