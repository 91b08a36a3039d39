"""The calls that an object was an argument of before it is used, and which of them may have changed it.

Functions of known libraries change no model that they look at, but for those that put an adapter on it. A function of
the project is read; of all others nobody knows what they do.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator

from trl_lint.memos import per_module
from trl_lint.python.handed import handed_between
from trl_lint.python.module import FUNCTIONS, FunctionNode, PythonModule, nodes_in
from trl_lint.run.trainer.made import Frame, Made, Options, Stay

_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.ClassDef, *FUNCTIONS)
_DEEP = 8  # objects of objects
# Those of the standard library by which any function may get at an object, or another get in its place.
_CALLING = frozenset({"atexit", "concurrent", "functools", "importlib", "multiprocessing", "threading", "types"})
_CHANGING = frozenset({"__import__", "delattr", "eval", "exec", "map", "setattr", "vars"})
_LIBRARIES = frozenset(
    {
        "accelerate", "bitsandbytes", "datasets", "deepspeed", "evaluate", "huggingface_hub", "loguru", "mlflow",
        "numpy", "pandas", "rich", "safetensors", "swanlab", "tensorboardX", "torch", "torchinfo", "torchsummary",
        "tqdm", "transformers", "trl", "vllm", "wandb",
    }
)  # fmt: skip
# The functions of peft that leave the layers of a model as they are. Read in 0.7.1 and 0.21.2.
_OF_PEFT = frozenset({"LoraConfig", "get_peft_model_state_dict", "prepare_model_for_kbit_training"})
# Methods that look at a model, freeze or move it, or are of texts and lists: none puts another layer in. Read in
# transformers 4.57.6 and 5.23.0, torch 2.9.1 and peft 0.21.2.
LOOKING = frozenset(
    {
        "add", "append", "bfloat16", "children", "cpu", "cuda", "debug", "detach", "dim", "element_size",
        "enable_input_require_grads", "endswith", "eval", "extend", "float", "format", "generate", "get",
        "get_input_embeddings", "get_memory_footprint", "get_output_embeddings", "gradient_checkpointing_disable",
        "gradient_checkpointing_enable", "half", "info", "item", "items", "join", "keys", "modules", "named_children",
        "named_modules", "named_parameters", "nelement", "num_parameters", "numel", "parameters",
        "print_trainable_parameters", "requires_grad_", "resize_token_embeddings", "save_pretrained", "size", "split",
        "startswith", "sum", "tie_weights", "to", "tolist", "train", "values", "warning",
    }
)  # fmt: skip
# What may be set on an object without changing it, and on the config of a model.
_SETTABLE = frozenset({"requires_grad", "use_cache"})
_OF_CONFIGS = frozenset({"eos_token_id", "pad_token_id"})


def may_be_changed(stay: Stay) -> bool:
    """Whether a call that got an object by a name may have put something into it, or in the place of a part of it."""
    if isinstance(stay.site, _DEFINITIONS):
        return False
    found = handed_between(stay.frame.module, stay.owner, stay.site, stay.use)
    return not found.complete or any(_may_change(call, stay.frame) for call in found.calls)


def receivers(stay: Stay) -> Iterator[PythonModule]:
    """The modules of the project's functions that got an object by a name."""
    if not isinstance(stay.site, _DEFINITIONS):
        for call in handed_between(stay.frame.module, stay.owner, stay.site, stay.use).calls:
            yield from (made.frame.module for made in _callees(call, stay.frame) if made.kind == "function")


def _callees(call: ast.Call, frame: Frame) -> Options:
    resolver = frame.resolver
    return resolver.options(call.func, resolver.frame_at(call, frame))


def _may_change(call: ast.Call, frame: Frame) -> bool:
    return not all(_is_harmless(made, call) for made in _callees(call, frame))


def _is_harmless(callee: Made, call: ast.Call) -> bool:
    if callee.kind == "function":
        node = callee.node
        return isinstance(node, FUNCTIONS) and _only_looks(callee.frame.module, node)
    for _ in range(_DEEP):
        if callee.kind in ("name", "call") and not callee.origin.startswith("."):
            return _is_of_library(callee.origin) and not any(one.arg in (None, "peft_config") for one in call.keywords)
        if callee.kind in ("dict", "list", "literal"):
            return True
        if not isinstance(callee.base, Made):
            return False
        callee = callee.base
    return False


def _is_of_library(origin: str) -> bool:
    package, _, rest = origin.partition(".")
    if not rest:
        return hasattr(builtins, package) and package not in _CHANGING
    if package == "peft":
        return rest.rpartition(".")[2] in _OF_PEFT
    return package in _LIBRARIES or (package in sys.stdlib_module_names and package not in _CALLING)


@per_module
def _only_looks(module: PythonModule, function: FunctionNode) -> bool:
    """Whether nothing in a function of the project can put something into an object that it gets."""
    for statement in function.body:
        for node in nodes_in(statement):
            if isinstance(node, ast.Call):
                is_fine = _is_looking(node, module)
            elif isinstance(node, ast.Attribute):
                is_fine = isinstance(node.ctx, ast.Load) or _is_plain_setting(node)
            elif isinstance(node, ast.Subscript):  # a list or dict of its own, and no part of an object
                is_fine = isinstance(node.ctx, ast.Load) or isinstance(node.value, ast.Name)
            else:
                is_fine = True
            if not is_fine:
                return False
    return True


def _is_plain_setting(target: ast.Attribute) -> bool:
    of_config = isinstance(target.value, ast.Attribute) and target.value.attr.endswith("config")
    return target.attr in _SETTABLE or (target.attr in _OF_CONFIGS and of_config)


def _is_looking(call: ast.Call, module: PythonModule) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in LOOKING:
        return True
    return module.names.is_certain(call.func) and all(map(_is_of_library, module.names.origins(call.func)))
