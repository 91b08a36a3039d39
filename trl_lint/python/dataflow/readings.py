"""Small readings of one expression that the device analysis rests on: ranks, dtypes, annotations, models."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.memos import per_module
from trl_lint.python.dataflow import torch_facts as torch
from trl_lint.python.dataflow.interpreter import dotted
from trl_lint.python.dataflow.places import Rank
from trl_lint.python.guards import last_name
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import literal
from trl_lint.records import NamedTuple


def is_bound_device(text: str, known: frozenset[str]) -> bool:
    """Whether a device expression names something that is bound already: `x.device`, `device`, `self.device`."""
    root = text.partition(".")[0]
    return bool(text) and text.replace(".", "_").isidentifier() and root in known | {"self"}


def is_cpu(node: ast.expr) -> bool:
    """Whether a device expression is the CPU: `"cpu"`, `"cpu:0"`, `torch.device("cpu")`."""
    if isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] == "device":
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return bool(given) and is_cpu(given[0])
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.partition(":")[0] == "cpu"


def is_cpu_argument(call: ast.Call, name: str) -> bool:
    """Whether a keyword of a call says the CPU."""
    return any(keyword.arg == name and is_cpu(keyword.value) for keyword in call.keywords)


def is_tensor_annotation(node: ast.expr | None) -> bool:
    """`torch.Tensor`, `Tensor`, `torch.LongTensor`, optionally under Optional[...] or `| None`."""
    if node is None:
        return False
    text = ast.unparse(node).strip("'\"")
    for wrapper in ("Optional[", "typing.Optional["):
        if text.startswith(wrapper):
            text = text[len(wrapper) : -1]
    text = text.removesuffix(" | None").removeprefix("None | ")
    return text.rpartition(".")[2] in ("Tensor", "LongTensor", "FloatTensor", "BoolTensor", "HalfTensor")


def is_list_annotation(node: ast.expr | None) -> bool:
    """`list`, `List[...]`, `Sequence[...]`: what `torch.tensor` makes a tensor with dimensions of."""
    text = ast.unparse(node).strip("'\"") if node is not None else ""
    return text.partition("[")[0].rpartition(".")[2] in ("list", "List", "Sequence")


def is_foreign_annotation(node: ast.expr | None) -> bool:
    """An annotation that says the value is no torch tensor."""
    return node is not None and any(word in ast.unparse(node) for word in ("ndarray", "jax", "tf.", "jnp", "np."))


# What has functions of these names is no tensor.
_PACKAGES = frozenset({"torch", "F", "nn.functional", "self", "torch.nn.functional"})
_MODULES = frozenset({"torch", "F", "torch.nn.functional", "nn.functional"})
_MODEL_WORDS = ("model", "actor", "critic", "policy", "value_head", "backbone", "transformer")
_MAKERS = ("get_", "create_", "load_", "build_", "make_", "prepare_")
_NO_MODELS = ("vllm", "llm", "model_name", "config", "info", "output", "inputs", "kwargs", "factory", "class", "path")


def is_model_call(func: ast.expr) -> bool:
    """A forward call of something named like a model (`model(...)`, `self.actor(...)`, `model.generate(...)`)."""
    if isinstance(func, ast.Attribute) and func.attr in ("generate", "forward"):
        func = func.value
        if isinstance(func, ast.Call):  # super().forward(...)
            return False
    name = (dotted(func) or "").rpartition(".")[2].lower()
    if any(word in name for word in _NO_MODELS):
        return False
    return name.endswith(_MODEL_WORDS) and not name.startswith(_MAKERS)


# What makes tensors of text or pictures, by the name of the object or of its class.
_PREPARING = ("tokenizer", "processor", "feature_extractor", "tok", "collator")


def is_preparation(call: ast.Call) -> bool:
    """Whether a call gives tensors of transformers' own preparation of data: `tokenizer(…, return_tensors="pt")`.

    They are on the CPU, but for a call that names a device.
    """
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    wanted = given.get("return_tensors")
    if wanted is None or "device" in given or None in given or not _is_pytorch(wanted):
        return False
    name = dotted(call.func) or ""
    return any(part.lower().endswith(_PREPARING) for part in name.split("."))


def _is_pytorch(node: ast.expr) -> bool:
    return literal(node) == "pt" or (dotted(node) or "").endswith("TensorType.PYTORCH")


def is_accelerator(node: ast.expr) -> bool:
    """`accelerator`, `self.accelerator`."""
    return (dotted(node) or "").rpartition(".")[2] == "accelerator"


def is_gathered(module: PythonModule, function: FunctionNode) -> bool:
    """A trainer's `prediction_step`: transformers' evaluation loop gathers what it returns from all processes."""
    owner = module.parents.get(function)
    if function.name != "prediction_step" or not isinstance(owner, ast.ClassDef):
        return False
    return any((dotted(base) or "").endswith("Trainer") for base in owner.bases)


def is_dtype(node: ast.expr) -> bool:
    """Whether the argument of `.to(...)` is a dtype rather than a device."""
    name = (dotted(node) or "").rpartition(".")[2]
    return name in torch.DTYPES or "dtype" in name.lower()


class Proven(NamedTuple):
    """Expressions that are tensors: as written, and the types and last names of them, which are cheaper to compare."""

    texts: frozenset[str]
    looks: frozenset[tuple[type, str]]

    def holds(self, node: ast.expr, module: PythonModule) -> bool:
        return (type(node), last_name(node)) in self.looks and text_of(node, module) in self.texts


_NOTHING = Proven(frozenset(), frozenset())


def proven_tensors(function: FunctionNode, module: PythonModule) -> Proven:
    """Expressions that are used in a way only torch tensors allow."""
    return _proven_tensors(module).get(function, _NOTHING)


@per_module
def _proven_tensors(module: PythonModule) -> dict[FunctionNode, Proven]:
    found: dict[FunctionNode, dict[str, tuple[type, str]]] = {}
    for node in module.of(ast.Attribute):
        if node.attr in torch.TENSOR_ONLY:
            text = text_of(node.value, module)
            if text not in _PACKAGES:
                for function in module.functions_around(node):
                    found.setdefault(function, {})[text] = (type(node.value), last_name(node.value))
    return {function: Proven(frozenset(texts), frozenset(texts.values())) for function, texts in found.items()}


@per_module
def text_of(node: ast.expr, module: PythonModule) -> str:
    """`ast.unparse`, once for each expression: branches and calls bring the same one up again and again."""
    return dotted(node) or _unparsed(node, module)


@per_module
def _unparsed(node: ast.expr, module: PythonModule) -> str:
    return ast.unparse(node)


def parts(node: ast.expr) -> Iterator[ast.expr]:
    """The elements of a literal sequence and the operand of a splat: where a size may hide."""
    if isinstance(node, (ast.Tuple, ast.List)):
        yield from node.elts
    elif isinstance(node, ast.Starred):
        yield node.value


def rank_of(node: ast.Call, last: str, module: PythonModule) -> Rank:
    """How many dimensions the result of a factory call certainly has."""
    if last in torch.DATA_FACTORIES:
        if not node.args or not is_plain_list(node.args[0]):
            return "unsure"
        rows = node.args[0].elts if isinstance(node.args[0], ast.List) else []
        return "many" if rows and isinstance(rows[0], ast.List) else "some"
    if not node.args:
        return "unsure"
    if last in ("eye", "tril_indices", "triu_indices"):
        return "many"
    if last not in ("zeros", "ones", "empty", "rand", "randn", "full"):
        return "some"
    first = node.args[0]
    if isinstance(first, (ast.Tuple, ast.List)):
        return "many" if len(first.elts) > 1 else "some" if first.elts else "unsure"
    if last == "full":
        return "unsure" if isinstance(first, ast.Name) else "some"  # `full(size, x)`: the size may be ()
    if isinstance(first, ast.Starred) or len(node.args) > 1:
        return "many" if len(node.args) > 1 else "some"
    return "some" if not isinstance(first, ast.Name) or module.value(first) != () else "unsure"


def reduced(rank: Rank, last: str, node: ast.Call) -> Rank:
    """What a reduction leaves of a rank; `node` is the call, of a function or of a method."""
    options = {keyword.arg: keyword.value for keyword in node.keywords}
    is_method = isinstance(node.func, ast.Attribute) and (dotted(node.func) or "").rpartition(".")[0] not in _MODULES
    dimension = options.get("dim") or next(iter(node.args[0 if is_method else 1 :]), None)
    is_one = isinstance(literal(dimension), int) and literal(dimension) is not True
    if last not in torch.SINGLE_REDUCTIONS or not is_one or (last == "norm" and "dim" not in options):
        return "unsure"
    if literal(options.get("keepdim")) is True:
        return rank
    return "some" if rank == "many" and not options.get("keepdim") else "unsure"


def is_plain_list(node: ast.expr) -> bool:
    """A list whose items cannot be tensors that live elsewhere already."""
    return isinstance(node, (ast.List, ast.ListComp)) and not any(isinstance(n, ast.Call) for n in ast.walk(node))


def is_scalar_data(node: ast.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], (ast.Constant, ast.UnaryOp))


def picked(rank: Rank, index: ast.expr) -> Rank:
    """What a subscript leaves of a rank: a slice or `None` in it keeps one dimension, anything else may take one."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    is_kept = any(isinstance(i, ast.Slice) or (isinstance(i, ast.Constant) and i.value is None) for i in items)
    if len(items) == 1:
        return rank if is_kept else "some" if rank == "many" else "unsure"
    return "some" if is_kept and rank in ("some", "many") else rank if is_kept else "unsure"


def sets_default_device(node: ast.With | ast.AsyncWith) -> bool:
    """Whether factories inside of a `with` follow a device: `with torch.device(…):`, `with self.device:`."""
    entries = [entry.context_expr for entry in node.items]
    names = [dotted(entry.func if isinstance(entry, ast.Call) else entry) or "" for entry in entries]
    return any(name.rpartition(".")[2].endswith("device") for name in names)


@per_module
def under_default_device(module: PythonModule) -> frozenset[str]:
    """The names of the functions that may run inside of such a `with`, called there directly or over another."""
    withs: list[ast.With | ast.AsyncWith] = [*module.of(ast.With), *module.of(ast.AsyncWith)]
    blocks: list[ast.AST] = [node for node in withs if sets_default_device(node)]
    found: set[str] = set()
    while blocks:
        names = {last_name(node.func) for block in blocks for node in ast.walk(block) if isinstance(node, ast.Call)}
        blocks = [function for function in module.functions if function.name in names - found]
        found |= names
    return frozenset(found)
