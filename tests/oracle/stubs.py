"""Modules that only have to be importable where a config is made: they are empty, and give whatever is asked of them.

Nothing that decides about a config may be among them.
"""

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from unittest.mock import MagicMock

NEEDED = {
    "verl": ("ray", "codetiming", "torchdata", "pyarrow", "dill", "pybind11", "pylatexenc", "wandb", "vllm", "sglang",
             "flash_attn", "peft", "accelerate", "qwen_vl_utils", "tensorboard", "cachetools",
             "uvicorn", "fastapi", "aiohttp", "openai", "transfer_queue", "pandas", "datasets", "tensordict"),
    "openrlhf": ("ray", "deepspeed", "vllm", "flash_attn", "optree", "peft", "datasets", "torchmetrics", "aiohttp",
                 "openrlhf.trainer", "openrlhf.datasets", "openrlhf.models", "openrlhf.utils"),
    "vllm": ("vllm._C", "vllm._moe_C", "ray", "xgrammar", "outlines", "outlines_core", "lm_format_enforcer",
             "llguidance", "depyf", "watchfiles", "model_hosting_container_standards", "anthropic", "mcp"),
    "deepspeed": ("deepspeed.autotuning", "deepspeed.elasticity.elastic_agent", "deepspeed.runtime.pipe", "ninja"),
}  # fmt: skip
REAL = ("openrlhf.utils.config",)


class _Stub(types.ModuleType):
    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        is_base = name[:1].isupper() and not self.__name__.startswith("openrlhf.")
        found = type(name, (_Anything,), {}) if is_base else MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found


class _Anything:
    def __init__(self, *given: object, **named: object) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock(name=name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: "tuple[str, ...]") -> None:
        self.names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name in REAL or not any(name == each or name.startswith(f"{each}.") for each in self.names):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: "importlib.machinery.ModuleSpec") -> types.ModuleType:
        return _Stub(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        above = sys.modules.get(module.__name__.partition(".")[0])
        folders = [f"{each}/{module.__name__.partition('.')[2].replace('.', '/')}" for each in above.__path__ or ()]
        module.__path__ = folders if any(each.startswith(f"{module.__name__}.") for each in REAL) else []


@functools.cache
def install(package: str) -> None:
    """Have empty modules in the place of those that are not installed, and of the package's own parts among them."""
    names = tuple(
        each
        for each in NEEDED.get(package, ())
        if each.startswith(f"{package}.") or importlib.util.find_spec(each) is None
    )
    if names:
        sys.meta_path.insert(0, _Finder(names))
