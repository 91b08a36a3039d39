"""Answer with what the real model of axolotl says of configs: run by a Python that has pydantic and transformers.

python axolotl_probe.py SOURCES < configs.json > answers.json

`SOURCES` is the folder that holds the package `axolotl` of one release. Packages that are as large as torch are stood
in for by modules in which every class is empty. Of each config the answer is null, or the text of the exception.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import types

from stood_in import package_at, stand_in

STOOD_IN = ("torch", "accelerate", "bitsandbytes", "peft", "trl", "datasets", "deepspeed", "psutil", "PIL")
PLACES = ("axolotl.utils.schemas.config", "axolotl.utils.config.models.input.v0_4_1")
CAPABILITIES = {"bf16": True, "fp8": True, "tf32": True, "n_gpu": 1, "n_node": 1, "compute_capability": "sm_89"}
ENVIRONMENT = {"torch_version": "2.11.0"}


class Log(logging.Logger):
    def warning_once(self, *given: object, **named: object) -> None:
        pass


def read_model(sources: str) -> type:
    """The model that every command of the release reads its config into."""
    import transformers  # noqa: F401

    stand_in(*STOOD_IN)
    for name in ("axolotl", "axolotl.utils", "axolotl.utils.config"):
        package_at(name, os.path.join(sources, *name.split(".")))
    log = types.ModuleType("axolotl.utils.logging")
    log.get_logger = lambda *given, **named: Log("axolotl")  # type: ignore[attr-defined]
    sys.modules["axolotl.utils.logging"] = log
    data = types.ModuleType("axolotl.utils.datasets")
    data.get_default_process_count = lambda: 1  # type: ignore[attr-defined]
    sys.modules["axolotl.utils.datasets"] = data
    logging.disable(logging.CRITICAL)
    for place in PLACES:
        if os.path.exists(os.path.join(sources, *place.split("."), "__init__.py")) or os.path.exists(
            os.path.join(sources, *place.split(".")) + ".py"
        ):
            found: type = importlib.import_module(place).AxolotlConfigWCapabilities
            return found
    raise SystemExit(f"no model in {sources}")


def main() -> None:
    model = read_model(sys.argv[1])
    answers = []
    for config in json.load(sys.stdin):
        try:
            model(**config, capabilities=CAPABILITIES, env_capabilities=ENVIRONMENT)
        except Exception as error:
            answers.append(f"{type(error).__name__}: {error}"[:2000])
        else:
            answers.append(None)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
