# Names and commands only; the logic is in the tools that these call. `make` prints the list.
.DEFAULT_GOAL := help
.PHONY: help build demo check check-all bench repro tile size format native clean
PYTHON := .venv/bin/python
SOURCES := $(shell find core targets tool linux facts hw peers kernel CMakeLists.txt pyproject.toml -type f \
  -not -path '*/tests/*' -not -path '*/tb/*' -not -path '*/doc/*' -not -path '*/_native/*' -not -path 'tool/tautochrone/targets/*' \
  -not -path '*/__pycache__/*')
# T=words runs only the tests whose names match, as in `make check T=budget`.
# More workers than processors, as some tests wait. pytest keeps the rewritten tests from run to run.
PYTEST := PYTHONDONTWRITEBYTECODE= $(PYTHON) -m pytest -n $(shell expr $$(nproc) + 2) --dist loadfile \
  --no-loadscope-reorder --durations 10 $(if $(T),-k '$(T)')
# pytest exits with 5 if it has run no test.
NO_MATCH := || { code=$$?; [ $$code -ne 5 ] || echo "no test's name matches T=$(T)" >&2; exit $$code; }

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

build: .venv/stamp-build ## the command .venv/bin/tau

demo: .venv/stamp-build ## record a compiler, plan its heap, replay it, write out/demo/report.html
	$(PYTHON) scripts/demo.py

check: .venv/stamp-check .venv/stamp-build ## every test that fits in eight minutes on two cores and is not as it last passed; T=words: by name
	$(PYTEST) -m 'not slow' --skip-unchanged $(NO_MATCH)

check-all: .venv/stamp-check .venv/stamp-build ## every test
	$(PYTEST) $(NO_MATCH)

bench: .venv/stamp-bench .venv/stamp-build ## every figure of bench/, peers beside us; B=name: one of them
	$(PYTHON) scripts/run_all.py bench $(B)

repro: .venv/stamp-bench .venv/stamp-build ## every figure of repro/, theirs beside ours; P=name: one of them
	$(PYTHON) scripts/run_all.py repro $(P)

tile: .venv/stamp-build ## the simulated tile: each simulator and the program that replays on it
	$(PYTHON) -m tautochrone.tile.systems

size: .venv/stamp-check ## code bytes of each function, against the checked-in table
	$(PYTHON) -m bench size

format: .venv/stamp-check ## lay out the C files of core, tool, peers and kernel
	clang-format-14 -i core/*.[ch] peers/conventional/*.[ch] core/private/*.h core/private/*/*.h \
	  tool/native/*/*.[ch] peers/*.[ch] kernel/*.[ch] kernel/*/*.[ch] kernel/*/*/*.[ch]

native: ## for developers: the native libraries into the source tree, for PYTHONPATH=tool
	mkdir -p build
	flock build/native.lock sh -ec ' \
	  cmake -S . -B build/native -G Ninja -DCMAKE_BUILD_TYPE=Release -DTAU_TOOL=ON \
	    -DTAU_TOOL_DESTINATION=_native -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) \
	    -DCMAKE_INSTALL_PREFIX=$(CURDIR)/tool/tautochrone; \
	  cmake --build build/native; \
	  cmake --install build/native'

clean: ## remove what was built and measured; .venv stays
	rm -rf build out tool/tautochrone/_native tool/tautochrone/targets .venv/stamp-*

.venv/stamp-demo: pyproject.toml scripts/pins.txt scripts/setup.sh
	scripts/setup.sh demo
	touch $@

.venv/stamp-check: pyproject.toml scripts/pins.txt scripts/setup.sh
	scripts/setup.sh check
	touch $@

.venv/stamp-bench: pyproject.toml scripts/pins.txt scripts/setup.sh
	scripts/setup.sh bench
	touch $@

.venv/stamp-build: .venv/stamp-demo $(SOURCES)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
	  --force-reinstall .
	touch $@
