"""What a script does with several GPUs: whether one process of it would end in `nn.DataParallel`."""

from __future__ import annotations

import ast
from typing import Literal

from trl_lint.missing import UNKNOWN
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument, is_none
from trl_lint.records import NamedTuple

# Trainers that train in the loop of `transformers.Trainer`, which wraps the model. PPO and RLOO before 0.22 do not.
_TRL_TRAINERS = frozenset(
    (
        "BCOTrainer", "CPOTrainer", "DPOTrainer", "DistillationTrainer", "GKDTrainer", "GRPOTrainer", "KTOTrainer",
        "NashMDTrainer", "ORPOTrainer", "OnlineDPOTrainer", "PRMTrainer", "RLOOTrainer", "RewardTrainer", "SFTTrainer",
        "XPOTrainer",
    )
)  # fmt: skip
_HF_TRAINERS = frozenset(("Trainer", "Seq2SeqTrainer"))

# Whoever calls these starts processes or places models by other means; nothing is said about such a script.
_OWN_PROCESSES = frozenset(
    (
        "subprocess", "os.system", "os.execv", "os.execvp", "os.execvpe", "os.posix_spawn", "os.fork", "os.putenv",
        "torch.multiprocessing", "multiprocessing", "ray.init", "accelerate.notebook_launcher",
        "accelerate.debug_launcher", "torch.distributed.init_process_group", "torch.distributed.launcher",
        "torch.distributed.run", "deepspeed.init_distributed",
    )
)  # fmt: skip
# Packages that place the model themselves, beside those of `rules/families`.
_OWN_PLACEMENT = frozenset({"unsloth", "colossalai", "megatron", "torch_xla"})
# Keywords and attributes that decide against DataParallel unless their value is one of these.
_KEYWORDS: dict[str, tuple[object, ...]] = {
    "device_map": (None,),
    "deepspeed": (None, "", False),
    "fsdp": (None, "", False),
    "load_in_4bit": (False, None),
    "load_in_8bit": (False, None),
    "max_memory": (None,),
    "no_cuda": (False,),
    "parallelism_config": (None,),
    "quantization_config": (None,),
    "use_cpu": (False,),
    "use_mps_device": (False,),
}
_ATTRIBUTES = frozenset(
    {"_n_gpu", "n_gpu", "device_map", "is_parallelizable", "model_parallel", "place_model_on_device"}
)
# TRL's helpers that give None unless a flag asks for a quantised model.
_QUANTISED_BY_FLAG = frozenset({"get_quantization_config", "get_kbit_device_map"})


class Training(NamedTuple):
    """A trainer that a script builds and runs.

    `library` is "trl" or "transformers"; `base` the class of that library; `experimental`: not the stable one of TRL.
    `model` is "object" if the script itself certainly loads it without a device map, "name" if the trainer loads it by
    its name. `needs_flags`: quantisation hangs on command line flags.
    """

    call: ast.Call
    name: str
    library: str
    base: str
    experimental: bool
    model: Literal["object", "name"]
    needs_flags: bool


def read_training(module: PythonModule) -> Training | None:
    """The training of a script that would be wrapped; None if there is none, or the script takes care of the GPUs."""
    if names_own_processes(module) or _places_models(module):
        return None
    found: list[Training] = []
    for call in module.calls:
        trainer = _trainer(module, call)
        if trainer is not None and _is_trained(module, call):
            model = _model(module, call)
            if model is None:
                return None  # it may come from elsewhere, spread over the GPUs already
            library, base, experimental = trainer
            name = base if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", base)
            flags = any(helper in module.text for helper in _QUANTISED_BY_FLAG)
            found.append(Training(call, name, library, base, experimental, model, flags))
    return found[0] if len({(training.base, training.model) for training in found}) == 1 else None


def names_own_processes(module: PythonModule) -> bool:
    """Whether the script starts processes, joins a process group, or chooses its GPUs itself."""
    from trl_lint.knowledge.families import placing_packages

    if not module.names.modules().isdisjoint(_OWN_PLACEMENT | placing_packages()):
        return True
    for call in module.calls:
        for origin in module.names.origins(call.func):
            if any(origin == name or origin.startswith(name + ".") for name in _OWN_PROCESSES):
                return True
    return any(isinstance(node.value, str) and node.value == "CUDA_VISIBLE_DEVICES" for node in module.of(ast.Constant))


def _places_models(module: PythonModule) -> bool:
    for call in module.calls:
        for keyword in call.keywords:
            allowed = _KEYWORDS.get(keyword.arg or "")
            if allowed is not None and not _is_harmless(module, keyword.value, allowed):
                return True
    for node in module.of(ast.Dict):
        items = zip(node.keys, node.values, strict=True)
        named = ((key.value, value) for key, value in items if isinstance(key, ast.Constant))
        if any(not _is_harmless(module, value, _KEYWORDS[key]) for key, value in named if key in _KEYWORDS):
            return True
    if any(isinstance(node.ctx, ast.Store) and node.attr in _ATTRIBUTES for node in module.of(ast.Attribute)):
        return True
    for item in module.of(ast.Subscript):
        if isinstance(item.ctx, ast.Store) and isinstance(item.slice, ast.Constant) and item.slice.value in _KEYWORDS:
            return True
    # A field of the script's own arguments.
    fields = (node.target for node in module.of(ast.AnnAssign))
    return any(isinstance(field, ast.Name) and field.id in _KEYWORDS for field in fields)


def _is_harmless(module: PythonModule, value: ast.expr, allowed: tuple[object, ...]) -> bool:
    known = module.value(value)
    if known is not UNKNOWN:
        return any(known is item or known == item for item in allowed)
    values = _values(module, value) if isinstance(value, ast.Name) else [value]
    return bool(values) and all(_calls_only(item, _QUANTISED_BY_FLAG) for item in values)


def _calls_only(value: ast.expr, names: frozenset[str]) -> bool:
    """Whether an expression is a call of one of these functions, perhaps under a condition with None beside it."""
    if isinstance(value, ast.IfExp):
        return all(_calls_only(item, names) or is_none(item) for item in (value.body, value.orelse))
    if not isinstance(value, ast.Call):
        return False
    func = value.func
    return (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")) in names


# -- trainers -----------------------------------------------------------------------------------------------------


def _trainer(module: PythonModule, call: ast.Call) -> tuple[str, str, bool] | None:
    """Library and class of the trainer a call builds; a subclass in the script counts as its base."""
    if not module.names.is_certain(call.func) and not isinstance(call.func, ast.Name):
        return None
    origins = module.names.origins(call.func)
    if len(origins) != 1:
        return None
    (origin,) = origins
    found = _library_trainer(origin)
    if found is not None:
        return found if module.names.is_certain(call.func) else None
    return _own_trainer(module, origin)


def _library_trainer(origin: str) -> tuple[str, str, bool] | None:
    package, _, name = origin.rpartition(".")
    top = package.partition(".")[0]
    if top == "trl" and name in _TRL_TRAINERS:
        return "trl", name, package.startswith("trl.experimental")
    if top == "transformers" and name in _HF_TRAINERS:
        return "transformers", name, False
    return None


def _own_trainer(module: PythonModule, name: str) -> tuple[str, str, bool] | None:
    classes = [node for node in module.classes if node.name == name]
    if len(classes) != 1 or len(classes[0].bases) != 1 or not module.names.is_certain(classes[0].bases[0]):
        return None
    # One that changes how the model is wrapped, or what `train` does, is not understood.
    methods = {node.name for node in classes[0].body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    if methods & {"_wrap_model", "train", "_inner_training_loop", "create_accelerator_and_postprocess"}:
        return None
    origins = module.names.origins(classes[0].bases[0])
    return _library_trainer(next(iter(origins))) if len(origins) == 1 else None


def _is_trained(module: PythonModule, call: ast.Call) -> bool:
    """Whether `.train()` is called on what the call builds."""
    parent = module.parents.get(call)
    targets: list[ast.expr] = []
    if isinstance(parent, ast.Attribute) and parent.attr == "train":
        return isinstance(module.parents.get(parent), ast.Call)
    if isinstance(parent, ast.Assign):
        targets = parent.targets
    elif isinstance(parent, (ast.AnnAssign, ast.NamedExpr)):
        targets = [parent.target]
    names = {ast.unparse(target) for target in targets if isinstance(target, (ast.Name, ast.Attribute))}
    return any(
        isinstance(other.func, ast.Attribute) and other.func.attr == "train" and ast.unparse(other.func.value) in names
        for other in module.calls
    )


# -- models -------------------------------------------------------------------------------------------------------


def _model(module: PythonModule, call: ast.Call) -> Literal["object", "name"] | None:
    """Whether the trainer gets a model that this script loads, or a name to load it by; None if nobody can tell."""
    model = argument(call, "model", 0)
    if not isinstance(model, ast.expr):
        return None
    if _is_model(module, model):
        return "object"
    return "name" if _is_name(module, model) else None


def _is_name(module: PythonModule, value: ast.expr) -> bool:
    """A model id: a string, or the field of TRL's ModelConfig that holds it."""
    if isinstance(module.value(value), str):
        return True
    return isinstance(value, ast.Attribute) and value.attr == "model_name_or_path"


def _is_model(module: PythonModule, value: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is a model loaded in this script; `seen` are the names that are being judged already."""
    if isinstance(value, ast.Name):
        if value.id in seen:
            return True  # `model = get_peft_model(model, …)` is as good as the model before it
        values = _values(module, value)
        return bool(values) and all(_is_model(module, item, seen | {value.id}) for item in values)
    if not isinstance(value, ast.Call):
        return False
    func = value.func
    if isinstance(func, ast.Attribute) and func.attr in ("from_pretrained", "from_config"):
        return all(_is_readable(module, keyword) for keyword in value.keywords)
    if isinstance(func, ast.Attribute) and func.attr in ("to", "cuda", "half", "bfloat16", "float", "train"):
        return _is_model(module, func.value, seen)
    if any(origin.rpartition(".")[2] == "get_peft_model" for origin in module.names.origins(func)) and value.args:
        return _is_model(module, value.args[0], seen)
    return False


def _is_readable(module: PythonModule, keyword: ast.keyword) -> bool:
    """A `**kwargs` may bring a device map unless it is a dict written in this script (whose keys are judged there)."""
    if keyword.arg is not None:
        return True
    if isinstance(keyword.value, ast.Name):
        values = _values(module, keyword.value)
        return bool(values) and all(_is_dict(value) for value in values)
    return _is_dict(keyword.value)


def _is_dict(value: ast.expr) -> bool:
    if isinstance(value, ast.Dict):
        return all(key is not None for key in value.keys)
    return (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict" and not value.args
    )


def _values(module: PythonModule, name: ast.Name) -> list[ast.expr]:
    """Everything a name is assigned in the scope it is used in; empty if something else binds it there, or nothing."""
    stores: dict[ast.AST | None, list[ast.Name]] = {}
    shared: list[ast.Global | ast.Nonlocal] = [*module.of(ast.Global), *module.of(ast.Nonlocal)]
    if any(name.id in statement.names for statement in shared):
        return []
    for node in module.named(name.id):
        if not isinstance(node.ctx, ast.Load):
            stores.setdefault(module.function(node), []).append(node)
    scope = module.function(name)
    while scope is not None and scope not in stores:
        if any(node.arg == name.id for node in ast.walk(scope.args) if isinstance(node, ast.arg)):
            return []
        scope = module.function(scope)
    values = [_assigned(module, node) for node in stores.get(scope, [])]
    return [value for value in values if value is not None] if None not in values else []


def _assigned(module: PythonModule, target: ast.Name) -> ast.expr | None:
    parent = module.parents.get(target)
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        return parent.value
    return None
