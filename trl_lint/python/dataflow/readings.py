"""Small readings of one expression that the device analysis rests on: ranks, dtypes, annotations, models."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.python.dataflow import torch_facts as torch
from trl_lint.python.dataflow.interpreter import dotted
from trl_lint.python.module import FunctionNode, PythonModule


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


def proven_tensors(function: FunctionNode, module: PythonModule) -> frozenset[str]:
    """Expressions (as written) that are used in a way only torch tensors allow."""
    known = module.memo.get(("proven tensors", module.tree))
    if known is None:
        known = module.memo["proven tensors", module.tree] = _proven_tensors(module)
    return known.get(function, frozenset())  # type: ignore[attr-defined, no-any-return]


def _proven_tensors(module: PythonModule) -> dict[FunctionNode, frozenset[str]]:
    found: dict[FunctionNode, set[str]] = {}
    for node in module.of(ast.Attribute):
        if node.attr in torch.TENSOR_ONLY:
            text = text_of(node.value, module)
            for function in module.functions_around(node):
                found.setdefault(function, set()).add(text)
    packages = {"torch", "F", "nn.functional", "self", "torch.nn.functional"}
    return {function: frozenset(texts - packages) for function, texts in found.items()}


def text_of(node: ast.expr, module: PythonModule) -> str:
    """`ast.unparse`, once for each expression: branches and calls bring the same one up again and again."""
    name = dotted(node)
    if name is not None:
        return name
    known = module.memo.get(("text", node))
    if known is None:
        known = module.memo["text", node] = ast.unparse(node)
    return known  # type: ignore[return-value]


def parts(node: ast.expr) -> Iterator[ast.expr]:
    """The elements of a literal sequence and the operand of a splat: where a size may hide."""
    if isinstance(node, (ast.Tuple, ast.List)):
        yield from node.elts
    elif isinstance(node, ast.Starred):
        yield node.value


def has_rank(node: ast.Call, last: str, module: PythonModule) -> bool:
    """Whether the result certainly has one or more dimensions."""
    if last in torch.DATA_FACTORIES:
        return bool(node.args) and is_plain_list(node.args[0])
    if not node.args:
        return False
    first = node.args[0]
    if last in ("zeros", "ones", "empty", "rand", "randn", "full"):
        if isinstance(first, (ast.Tuple, ast.List)):
            return bool(first.elts)
        if isinstance(first, ast.Starred) or last == "full":
            return not isinstance(first, ast.Name)  # `full(size, x)`: the size may be ()
        return not isinstance(first, ast.Name) or len(node.args) > 1 or module.value(first) != ()
    return True


def is_plain_list(node: ast.expr) -> bool:
    """A list whose items cannot be tensors that live elsewhere already."""
    return isinstance(node, (ast.List, ast.ListComp)) and not any(isinstance(n, ast.Call) for n in ast.walk(node))


def is_scalar_data(node: ast.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], (ast.Constant, ast.UnaryOp))


def keeps_rank(index: ast.expr) -> bool:
    """Whether a subscript leaves at least one dimension: a slice or `None` in it does."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(i, ast.Slice) or (isinstance(i, ast.Constant) and i.value is None) for i in items)
