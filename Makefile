# `make demo` and `make test` work on a fresh Debian 12; tools/setup_dev.sh does the preparing.
SHELL := /bin/bash
VENV ?= .venv
BUILD_DIR ?= build/dev
PY := $(VENV)/bin/python
JOBS ?= 2
ARGS ?=
# One software-driver thread to a test worker, and no search for a display.
TEST_ENV := LP_NUM_THREADS=1 NODEVICE_SELECT=1 RUST_BACKTRACE=0
CXX_FILES = $(shell find csrc tests/cpp tests/preload tests/vulkan_layer benches tools \
              -name '*.cpp' -o -name '*.h' -o -name '*.c')
CMAKE = $(firstword $(wildcard $(VENV)/bin/cmake) cmake)
# The runtime's fault tests need the layer that fails calls on request.
INJECT = $(if $(filter Linux,$(shell uname -s)),$(PY) tests/vulkan_layer/inject.py)
export VENV BUILD_DIR

.PHONY: help demo test setup setup-dev test-cpp test-python lint format stub soak validate bench \
        bench-peers performance accuracy docs wheel clean sanitize

help:
	@echo "make demo | test | sanitize | test-cpp | test-python | lint | format | stub | soak | validate | bench | bench-peers | performance | accuracy | docs | wheel | clean"

setup:
	@tools/setup_dev.sh demo test

setup-dev:
	@tools/setup_dev.sh demo test dev

demo:
	@tools/setup_dev.sh demo
	$(PY) -m wgtensor.demo digits $(ARGS)

test: setup test-cpp test-python

# The extension's build folder already holds the core: only the tests are compiled here.
test-cpp: setup
	$(CMAKE) -S . -B $(BUILD_DIR) -DWGTENSOR_BUILD_TESTS=ON >/dev/null
	$(CMAKE) --build $(BUILD_DIR) --target wgt_tests
	@# Injected losses make wgpu-native print pages of panic text: shown only on failure.
	$(TEST_ENV) $(INJECT) $(BUILD_DIR)/tests/cpp/wgt_tests 2>$(BUILD_DIR)/test-cpp.stderr || \
	  { tail -n 60 $(BUILD_DIR)/test-cpp.stderr; exit 1; }

test-python: setup
	$(TEST_ENV) $(PY) -m pytest -n $(JOBS) $(ARGS)

# The C++ tests and the template engine's fuzzer under address and undefined, threads under thread.
# Drivers and wgpu-native are not ours to search for leaks: tests/cpp/objects_test.cpp counts.
sanitize: setup
	for kind in address,undefined thread; do \
	  $(CMAKE) -S . -B build/$${kind%,*} -DWGTENSOR_SANITIZE=$$kind -DWGTENSOR_BUILD_PYTHON=OFF \
	    -DWGTENSOR_BUILD_TESTS=ON -DPython_EXECUTABLE=$(abspath $(PY)) >/dev/null || exit 1; \
	done
	$(CMAKE) --build build/address --target wgt_tests wgt_fuzz -j $(JOBS)
	$(CMAKE) --build build/thread --target wgt_stress -j $(JOBS)
	ASAN_OPTIONS=detect_leaks=0 build/address/tests/cpp/wgt_fuzz 10
	ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0 UBSAN_OPTIONS=print_stacktrace=1 $(TEST_ENV) \
	  $(INJECT) build/address/tests/cpp/wgt_tests
	TSAN_OPTIONS=second_deadlock_stack=1:suppressions=tests/cpp/thread_sanitizer.supp $(TEST_ENV) build/thread/tests/cpp/wgt_stress 30

lint: setup-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy -p wgtensor
	$(VENV)/bin/clang-format --dry-run -Werror $(CXX_FILES)

format: setup-dev
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(VENV)/bin/clang-format -i $(CXX_FILES)

stub: setup-dev
	$(PY) -m mypy.stubtest wgtensor._core

soak: setup
	WGTENSOR_SOAK_PARTS=$(JOBS) $(TEST_ENV) $(PY) -m pytest -s -n $(JOBS) tests/soak.py tests/soak_mixed.py $(ARGS)

# Under Khronos's validation layer (Linux, Debian's vulkan-validationlayers).
validate: setup
	$(PY) tools/validate.py $(ARGS)

bench: setup
	$(CMAKE) -S . -B $(BUILD_DIR) -DWGTENSOR_BUILD_BENCH=ON >/dev/null
	$(CMAKE) --build $(BUILD_DIR) --target benches
	@set -e; for b in $(BUILD_DIR)/benches/*; do [ -x $$b ] || continue; echo "== $$(basename $$b)"; $$b $(ARGS); done

# Against NumPy, and against PyTorch, ferrotensor and tinygrad where the environment has them.
bench-peers: setup
	$(PY) benches/compare_peers.py $(ARGS)

# Every row of the targets, from Python and from C++, with its share of the roofline.
performance: setup
	$(CMAKE) -S . -B $(BUILD_DIR) -DWGTENSOR_BUILD_BENCH=ON >/dev/null
	$(CMAKE) --build $(BUILD_DIR) --target benches
	$(PY) benches/performance.py --harness $(BUILD_DIR)/benches/harness $(ARGS)

# The error of every elementwise function: `make accuracy ARGS=--write` keeps it in docs/.
accuracy: setup
	$(PY) tools/accuracy.py $(ARGS)

docs: setup
	$(TEST_ENV) $(PY) tools/check_docs.py

wheel: setup
	$(PY) -m pip wheel -q --no-deps --no-build-isolation --config-settings=build-dir=$(BUILD_DIR) -w dist .

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
