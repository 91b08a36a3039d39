"""TRL124: what `generate` returns is gathered as it is, and each process has it in a length of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.checks.distribution._accelerators import constructor_of, parameters, stores
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.memos import per_module
from trl_lint.python.guards import bindings, functions_named, key_of, last_name
from trl_lint.python.module import PythonModule, mentions
from trl_lint.regexes import regex

_OF_ACCELERATOR = ("gather", "gather_for_metrics")
_OF_UTILS = ("accelerate.utils.gather", "accelerate.utils.operations.gather")
_OF_TORCH = "torch.distributed.all_gather"
_LIKE = frozenset({"torch.empty_like", "torch.ones_like", "torch.zeros_like"})
_SAME_SHAPE = frozenset({"clone", "contiguous", "cpu", "cuda", "detach", "int", "long", "to"})
_MODEL = regex(r"(?:^|_)(?:model|policy)$")
# What gives a model of transformers, or the same one again.
_GIVES_MODEL = frozenset(
    {"DDP", "DistributedDataParallel", "cuda", "eval", "from_pretrained", "get_peft_model", "module", "prepare"}
    | {"prepare_model", "to", "unwrap_model"}
)
_OF_MODELS = ("peft.", "transformers.", "trl.", "unsloth.")
# A file with none of these may have a model of its own, whose answers are cut elsewhere.
_ABOUT_MODELS = regex(r"PreTrainedModel|AutoModel|Trainer\b|GenerationConfig|get_peft_model|FastLanguageModel")
# With these, anywhere in a file, every answer may have one length.
_ONE_LENGTH = regex(
    r"min_new_tokens|min_length|ignore_eos|eos_token_id['\"]?\s{0,4}[=:]\s{0,4}(?:None|-)|suppress_tokens"
    r"|generation_config\.(?:eos|min)|cache_implementation"
)
# What may be a batch given with `**`; any other dict may hold settings.
_BATCH = regex(
    r"^(?:\w{0,40}_)?(?:batch|encoded|encodings?|features|inputs?|prompts?|query|tokenized|tokens)$", re.IGNORECASE
)
# The arguments that leave the lengths to the answers; of any other nothing is known.
_HARMLESS = frozenset(
    {"attention_mask", "bos_token_id", "do_sample", "early_stopping", "input_ids", "inputs", "max_length", "min_p"}
    | {"max_new_tokens", "num_beams", "num_return_sequences", "output_scores", "pad_token_id", "pixel_values"}
    | {"repetition_penalty", "return_dict_in_generate", "synced_gpus", "temperature", "top_k", "top_p", "use_cache"}
)
_MOST_STORES = 32  # of one name
_MOST_NAMES = 32  # made of each other, that are followed to what is gathered


class RaggedTensorsInGather(Rule):
    code = "TRL124"
    triggers = (*(f".{name}" for name in _OF_ACCELERATOR), *_OF_UTILS, _OF_TORCH)
    needles = (b".generate(",)
    words = (b"accelerator", b"accelerate", b"distributed")
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        module = site.module
        for value in _gathered(module, site.call):
            made = _generated(module, value, site.call, {})
            if made is None or not _has_own_lengths(module, made):
                continue
            yield self.finding(
                site.location,
                f"`{module.segment(site.call.func)}` needs one shape in all processes, and what `generate` returns "
                "is as long as the longest answer of each: the processes hang, or mix up the tokens; pad it before "
                "with `accelerator.pad_across_processes(…, dim=1, pad_index=tokenizer.pad_token_id)`",
                related=(module.location(made, "it is generated here"),),
            )
            return


def _gathered(module: PythonModule, call: ast.Call) -> list[ast.expr]:
    """The tensors that a call gathers from all processes, if it needs them in one shape."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in _OF_ACCELERATOR and not _is_of_torch(module, call):
        is_accelerator = last_name(func.value) == "accelerator" or constructor_of(module, func.value) is not None
        is_accelerator = is_accelerator or module.names.origins(func) <= set(_OF_UTILS) != set()
        values = call.args if is_accelerator and len(call.args) == 1 and not call.keywords else []
    elif _is_of_torch(module, call):
        values = call.args[1:] if len(call.args) == 2 and _has_own_shape(module, call) else []
    else:
        values = call.args if len(call.args) == 1 and not call.keywords else []
    if len(values) == 1 and isinstance(values[0], (ast.Tuple, ast.List)):
        return list(values[0].elts)
    return list(values)


def _is_of_torch(module: PythonModule, call: ast.Call) -> bool:
    return module.names.origins(call.func) == {_OF_TORCH}


def _has_own_shape(module: PythonModule, call: ast.Call) -> bool:
    """Whether `all_gather` receives into copies of what this process sends, and not into tensors of the right sizes."""
    parts, sent = call.args
    if isinstance(parts, ast.Name):
        values = bindings(module).get(parts.id, [])
        if len(values) != 1 or not module.names.is_literal_only(parts.id):
            return False
        parts = values[0]
    made = parts.elt if isinstance(parts, ast.ListComp) else None
    if not isinstance(made, ast.Call) or len(made.args) != 1 or not module.names.origins(made.func) <= _LIKE:
        return False
    return isinstance(sent, ast.Name) and isinstance(made.args[0], ast.Name) and made.args[0].id == sent.id


def _generated(
    module: PythonModule, node: ast.expr, before: ast.AST, known: dict[str, ast.Call | None]
) -> ast.Call | None:
    """The call of `generate` of which a tensor is all rows or a rest of the columns; None where it may be another.

    `known`: what names come from, each followed once, however many others are made of it.
    """
    while (inner := _same_columns(node)) is not None:
        node = inner
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "generate":
        return node if _is_model(module, node.func.value) else None
    if not isinstance(node, ast.Name):
        return None
    if node.id not in known:
        if len(known) == _MOST_NAMES:
            return None
        known[node.id] = None  # of a name that is made of itself
        known[node.id] = _of_name(module, node, before, known)
    return known[node.id]


def _same_columns(node: ast.expr) -> ast.expr | None:
    """The tensor that an expression has the rows and columns of, or a rest of them."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_SHAPE:
        return node.func.value
    if isinstance(node, ast.Subscript) and _leaves_a_rest(node.slice):
        return node.value
    return node.value if isinstance(node, ast.Attribute) and node.attr == "sequences" else None


def _of_name(
    module: PythonModule, name: ast.Name, before: ast.AST, known: dict[str, ast.Call | None]
) -> ast.Call | None:
    """What every assignment to a name above a place comes from, in the function of that place."""
    function = module.function(before)
    own = stores(module, name.id)
    if len(own) > _MOST_STORES or (function is not None and name.id in parameters(function)):
        return None
    statement = module.statement(before)
    line = (statement or name).lineno
    above = [one for one in own if module.function(one) is function and one.lineno < line]
    found = None
    for store in above:
        assignment = module.parents.get(store)
        if not isinstance(assignment, ast.Assign) or assignment.targets != [store]:
            return None
        if _is_rest_of_itself(assignment.value, name.id):
            continue
        made = _generated(module, assignment.value, before, known)
        if made is None:
            return None
        found = made
    return found


def _is_rest_of_itself(value: ast.expr, name: str) -> bool:
    """`tokens = tokens[:, length:]`"""
    is_rest = isinstance(value, ast.Subscript) and _leaves_a_rest(value.slice)
    return is_rest and isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id == name


def _leaves_a_rest(index: ast.expr) -> bool:
    """`[:, length:]`: the columns from one on, in a number that is not written down."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(
        isinstance(part, ast.Slice) and part.upper is None and part.step is None and not _is_negative(part.lower)
        for part in parts
    )


def _is_negative(node: ast.expr | None) -> bool:
    return isinstance(node, ast.UnaryOp)


def _is_model(module: PythonModule, node: ast.expr) -> bool:
    """Whether an expression is a model of transformers, as far as the file tells: by its name and what it is given."""
    while isinstance(node, (ast.Call, ast.Attribute)) and last_name(node) in ("module", "unwrap_model"):
        if isinstance(node, ast.Call):
            if len(node.args) != 1:
                return False
            node = node.args[0]
        else:
            node = node.value
    if _MODEL.search(last_name(node)) is None or functions_named(module, "generate"):
        return False
    return mentions(module, _ABOUT_MODELS) and _is_bound_to_models(key_of(node), module)


@per_module
def _is_bound_to_models(key: str, module: PythonModule) -> bool:
    return all(_gives_model(module, value) for value in bindings(module).get(key, []))


def _gives_model(module: PythonModule, value: ast.expr) -> bool:
    name = last_name(value)
    if name == "from_pretrained" and isinstance(value, ast.Call):
        origins = module.names.origins(value.func)
        return bool(origins) and all(origin.startswith(_OF_MODELS) for origin in origins)
    return name in _GIVES_MODEL or _MODEL.search(name) is not None


def _has_own_lengths(module: PythonModule, call: ast.Call) -> bool:
    """Whether an answer of `generate` ends where its end token stands, by all that the file says."""
    if len(call.args) > 1 or mentions(module, _ONE_LENGTH):
        return False
    return all(_is_harmless(module, keyword) for keyword in call.keywords)


def _is_harmless(module: PythonModule, keyword: ast.keyword) -> bool:
    value = keyword.value
    if keyword.arg is None:
        return isinstance(value, ast.Name) and _BATCH.search(value.id) is not None and not _is_dict(value.id, module)
    if keyword.arg == "eos_token_id":
        return isinstance(value, ast.Attribute) and value.attr == "eos_token_id"
    if keyword.arg == "generation_config":
        made = bindings(module).get(key_of(value), []) if isinstance(value, ast.Name) else [value]
        config = made[0] if len(made) == 1 else None
        is_config = isinstance(config, ast.Call) and last_name(config) == "GenerationConfig" and not config.args
        return is_config and isinstance(config, ast.Call) and all(_is_plain(module, one) for one in config.keywords)
    return _is_plain(module, keyword)


def _is_plain(module: PythonModule, keyword: ast.keyword) -> bool:
    if keyword.arg == "eos_token_id":
        return _is_harmless(module, keyword)
    is_one = isinstance(keyword.value, ast.Constant) and keyword.value.value == 1
    return keyword.arg in _HARMLESS and not (keyword.arg in ("max_new_tokens", "max_length") and is_one)


@per_module
def _is_dict(name: str, module: PythonModule) -> bool:
    made = bindings(module).get(name, [])
    return any(isinstance(value, (ast.Dict, ast.DictComp)) or last_name(value) == "dict" for value in made)


rule = RaggedTensorsInGather()
