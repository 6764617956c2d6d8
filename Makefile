# What one does with this project; `make` alone lists it. A machine needs python3 (3.11 or newer), pip and make.
PYTHON ?= python3
BIN   := .venv/bin
OURS  := $(BIN)/python -m reformer_rnn
# Each file says that .venv has what is needed for one thing, and in which folder.
READY := .venv/.ready-all
DEMO  := .venv/.ready-demo
LAB   := .venv/.ready-lab
MADE  := constraints.txt settings.ini pyproject.toml setup.py tools/check_env.py tools/set_up.py $(wildcard tools/jupyter/*)
# All of this works on small tensors: more threads would only get in each other's way.
demo lab test test-quick test-newest run reproduce: export OMP_NUM_THREADS ?= 1
demo lab test test-quick test-newest run reproduce: export WANDB_MODE ?= offline
# Not for run: there it would keep the pictures out of the notebooks.
demo test test-quick test-newest reproduce: export MPLBACKEND ?= Agg

.PHONY: help install demo lab reproduce test test-quick test-newest gpu export run docs preview clean distclean
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: ## Make .venv with the versions that constraints.txt pins, or mend it (the other targets make it when needed)
	@test ! -e $(READY) || { $(BIN)/python tools/check_env.py --mend && $(BIN)/python tools/check_env.py --repair --checkout; } || rm -f $(READY)
	@$(MAKE) --no-print-directory $(READY)

demo: $(DEMO) ## Watch three kinds of attention learn to copy, then one learn English and write some: three minutes on the CPU (TORCH=cpu|cuda chooses the build)
	@echo '1 of 3. Three kinds of attention learn to copy: masked_accuracy, the share of symbols copied right, rises from .02 to 1.'
	$(OURS) copy --seeds 0 --results results/copy
	@echo '2 of 3. A model with a state of constant size reads Wikipedia: on text kept back, bits_per_token fall to 3; guessing takes 8.'
	$(OURS) charlm --model gated_linear --carry --epochs 8 --seq-len 128 --bs 8 --lr 5e-3 --results results/charlm
	@echo '3 of 3. The model goes on after "The ": having read 90,000 bytes, it writes what looks like English, with links in brackets.'
	$(OURS) generate results/charlm/gated_linear-seed0.json --prompt 'The ' --n 300

lab: $(LAB) ## Read and run the notebooks in JupyterLab, which opens on the reading page (ARGS=--no-browser, ...)
	$(BIN)/python -m jupyterlab $(ARGS) nbs/01_reading.ipynb

reproduce: $(READY) ## Run again what is behind the ledger, for BUDGET minutes (60), and compare; SAMPLE=3 for three at random (SEED=1), of at most LONGEST minutes (15)
	$(OURS) reproduce --budget $(or $(BUDGET),60) --sample $(or $(SAMPLE),0) --seed $(or $(SEED),0) --longest $(or $(LONGEST),15)

test: $(READY) ## Check that package, notebooks, README and site are in step; run every notebook and the tests
	@$(BIN)/python tools/find_browser.py --install
	$(BIN)/python -m pytest

test-quick: $(READY) ## What takes a minute: everything in step, imports, ledger, and the notebooks that changed
	$(BIN)/python -m pytest --changed

test-newest: $(READY) ## Install the wheel beside the newest fastai and transformers there are, and train; export with nbdev 3
	$(BIN)/python -m pytest -m slow -n 0 -s

gpu: $(READY) ## Measure every kernel and layer on a CUDA device, in ten minutes at most; stored in results/gpu.json (ARGS="--device cpu --try": a dry run)
	timeout 600 $(BIN)/python tools/measure_gpu.py --out results/gpu.json $(ARGS)

export: $(READY) ## Write the package and README.md from the notebooks, and pyproject.toml from settings.ini
	$(BIN)/python tools/make_pyproject.py
	$(BIN)/nbdev_export
	$(BIN)/nbdev_clean
	$(BIN)/python tools/make_readme.py

run: $(READY) ## Execute the notebooks that changed since the last commit and store their outputs
	$(BIN)/python tools/run_nbs.py
	$(BIN)/python tools/make_readme.py

docs: $(READY) ## Render the notebooks, from their stored outputs, as the site in docs/
	$(BIN)/python tools/build_docs.py

preview: ## Serve docs/ at http://127.0.0.1:8000 (PORT=... for another port)
	$(PYTHON) -m http.server $(or $(PORT),8000) --bind 127.0.0.1 --directory docs

clean: ## Remove what builds and tests leave behind
	rm -rf build dist *.egg-info .pytest_cache _proc
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## Also remove .venv
	rm -rf .venv

# The environment of a folder that was moved names the old place in its scripts: it is mended, as a missing one is made.
$(shell grep -LFxs '$(CURDIR)' $(READY) $(DEMO) $(LAB) | xargs rm -f)
ifdef TORCH
.PHONY: $(READY) $(DEMO) $(LAB)
endif
$(READY) $(DEMO) $(LAB): .venv/.ready-%: $(MADE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed, $(PYTHON) is not; name another one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) tools/set_up.py $* $(if $(TORCH),--torch $(TORCH)) $(if $(TORCH_INDEX),--index $(TORCH_INDEX))
	@for part in $* demo; do echo '$(CURDIR)' >.venv/.ready-$$part; done
