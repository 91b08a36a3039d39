"""TRL703: a policy loss whose gradient is not the one that its formula has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.algorithm._kl import wrong_estimators
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.memos import per_module
from trl_lint.paths import is_test_file
from trl_lint.python.dataflow.interpreter import dotted
from trl_lint.python.dataflow.modes import mode_of, mode_of_context
from trl_lint.python.guards import last_name
from trl_lint.python.module import FUNCTIONS, PythonModule
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from trl_lint.python.dataflow.flow import Flow
    from trl_lint.python.dataflow.recorder import Flows, Root, Use

_TRIGGERS = ("exp", "backward", "mse_loss", "smooth_l1_loss", "huber_loss")
_OLD = regex(r"(?:^|_)(?:old|prev(?:ious)?|behaviou?r)(?:_|$)", re.I)
_LOG_PROB = regex(r"log_?p(?:rob|$|s$|_)|log_?pi|^ratios?$|_ratios?$|^nlp", re.I)
_VALUE = regex(r"value|critic|critique|baseline|vpred|(?:^|_)v(?:_|$|s$)", re.I)
_NO_VALUE = regex(r"target|return|reward|adv|next|old|max|min|func", re.I)
_MODEL = regex(r"log_?p|model|policy|actor|forward", re.I)
_CLAMPS = ("torch.clamp", "th.clamp", "torch.clip", "th.clip")
_CRITIC_LOSS = regex(r"(?:value|critic|vf?|baseline)s?_?loss|loss_?(?:value|critic|vf?)s?$", re.I)
_LOSS = regex(r"loss|update|train|learn|optimi[sz]e", re.I)
_ADAPTERS = regex(r"peft|lora", re.I)


class PolicyLossGradient(Rule):
    code = "TRL703"
    is_slow = True
    triggers = (".exp", ".backward", *(f"torch.nn.functional.{name}" for name in _TRIGGERS[2:]), "torch.exp")
    skips_tests = True
    needles = (b".exp(", b".backward(", *(f"{name}(".encode() for name in _TRIGGERS[2:]))

    def check_call(self, site: Site) -> Iterator[Finding]:
        """All of a function is reported with its first call that the rule asked for."""
        from trl_lint.python.dataflow.gradient import flows

        module = site.module
        root = module.function(site.call) or module.tree
        if is_test_file(module.path) or first_site(module, root) is not site.call:
            return
        for node, message in wrong_estimators(root):
            yield self.finding(module.location(node), message)
        found = flows(module, root) if may_tell(module, root) else None
        if found is not None:
            yield from self._ratios(module, root, found)
            yield from self._advantages(module, root, found)
            yield from self._inference(module, found)

    def _ratios(self, module: PythonModule, root: Root, found: Flows) -> Iterator[Finding]:
        for use in found.exponentials:
            if module.function(use.node) not in (root, None) and not isinstance(root, ast.Module):
                continue  # reported where it stands
            ((operand, flow),) = use.operands
            if is_same(module, root, use.node, flow):
                what = "a value minus itself: the ratio is 1 and has no gradient"
            elif is_twin(root, operand, flow, found):
                what = "what the same call gave twice, with gradients through both: they cancel"
            else:
                continue
            yield self.finding(
                module.location(use.node),
                f"`{_short(module.segment(operand))}` is {what}; detach the old log-probabilities",
            )

    def _advantages(self, module: PythonModule, root: Root, found: Flows) -> Iterator[Finding]:
        for product, value, regression in leaks(module, root, found):
            yield self.finding(
                module.location(product.node),
                f"the policy loss sends gradients into `{_short(module.segment(value))}`, which is trained by its own "
                "loss: detach the advantage",
                related=(module.location(regression.node, "it is trained here"),),
            )

    def _inference(self, module: PythonModule, found: Flows) -> Iterator[Finding]:
        models = {forward.atom for forward in found.forwards if forward.mode == "grad"} & found.trained
        for use in (*found.saved, *found.products):
            inferred = [node for node, flow in use.operands if flow.is_inference]
            forward = next((one for one in found.forwards if one.call is use.node), None)
            if forward is not None:
                is_kept = forward.atom in models and not _ADAPTERS.search(module.text)
                inferred = [node for node in inferred if is_ids(node, use.node)]
            else:
                is_kept = any(found.reached(flow) & models for _, flow in use.operands if not flow.is_inference)
            if inferred and is_kept:
                yield self.finding(
                    module.location(inferred[0]),
                    f"`{_short(module.segment(inferred[0]))}` was made under `inference_mode`, which the backward pass "
                    "cannot keep: use torch.no_grad() there",
                )


def first_site(module: PythonModule, root: Root) -> ast.Call | None:
    """The first call of a function that a trigger may have matched."""
    return _first_sites(module).get(root)


@per_module
def _first_sites(module: PythonModule) -> dict[object, ast.Call]:
    table: dict[object, ast.Call] = {}
    for call in module.calls:
        if last_name(call.func) in _TRIGGERS:
            table.setdefault(module.function(call) or module.tree, call)
    return table


# -- what is worth following -------------------------------------------------------------------------------------------


def may_tell(module: PythonModule, root: Root) -> bool:
    """Whether what is asked of the flows of a function may be found: to follow them costs more than the rest"""
    if not isinstance(root, ast.Module) and any(last_name(node) == "jit" for node in root.decorator_list):
        return False  # a kernel of Triton, in which no gradient is recorded
    return has_exponent(module, root) or "inference_mode" in module.text or may_leak(module, root)


def has_exponent(module: PythonModule, root: Root) -> bool:
    """Whether a function itself, or anything in a module, takes a power with gradients, which may be a ratio."""
    places = _places_of_exponents(module)
    return bool(places) if isinstance(root, ast.Module) else root in places or module.tree in places


@per_module
def _places_of_exponents(module: PythonModule) -> set[ast.AST]:
    exponents = (call for call in module.calls if last_name(call.func) == "exp" and _may_be_recorded(module, call))
    return {module.function(call) or module.tree for call in exponents}


def _may_be_recorded(module: PythonModule, call: ast.Call) -> bool:
    """Whether the innermost `with` or decorator around a call that switches gradients leaves them on."""
    inner: ast.AST = call
    for around in module.ancestors(call):
        if isinstance(around, (ast.With, ast.AsyncWith)) and not isinstance(inner, ast.withitem):
            modes = [mode for item in around.items if (mode := mode_of_context(item.context_expr)) is not None]
            if modes:
                return modes[-1] == "grad"
        if isinstance(around, FUNCTIONS):
            return mode_of(around) in ("grad", None)
        inner = around
    return True


def may_leak(module: PythonModule, root: Root) -> bool:
    """Whether there are what `leaks` looks for: a loss, a regression, and a product with log-probabilities."""
    is_loss = not isinstance(root, ast.Module) and _LOSS.search(root.name) is not None
    return (is_loss or _has_backward(module)) and _has_regression(module) and _has_product(module)


@per_module
def _has_backward(module: PythonModule) -> bool:
    return any(last_name(call.func) in ("backward", "grad") for call in module.calls)


@per_module
def _has_regression(module: PythonModule) -> bool:
    from trl_lint.python.dataflow.torch_facts import REGRESSIONS

    fitting = REGRESSIONS | {"pow", "square"}
    operations: list[ast.BinOp | ast.AugAssign] = [*module.of(ast.BinOp), *module.of(ast.AugAssign)]
    is_power = any(isinstance(node.op, ast.Pow) for node in operations)
    return is_power or any(last_name(call.func) in fitting for call in module.calls)


@per_module
def _has_product(module: PythonModule) -> bool:
    sides = [(node.left, node.right) for node in module.of(ast.BinOp) if isinstance(node.op, (ast.Mult, ast.Div))]
    changed = [node for node in module.of(ast.AugAssign) if isinstance(node.op, (ast.Mult, ast.Div))]
    sides += [(node.target, node.value) for node in changed]
    return any(is_log_prob(one) is not is_log_prob(other) for one, other in sides)


# -- ratios ----------------------------------------------------------------------------------------------------------


def is_same(module: PythonModule, root: Root, node: ast.expr, flow: Flow) -> bool:
    """Whether the exponent is zero without a gradient, always or on one of the ways that lead here."""
    if flow.kind != "either":
        return flow.is_null
    if not any(option.is_null for option in flow.options):
        return False
    # A test that led here may be the one that chose between the values.
    around = {
        part.id
        for parent in module.ancestors(node)
        if isinstance(parent, (ast.If, ast.IfExp, ast.While))
        for part in ast.walk(parent.test)
        if isinstance(part, ast.Name)
    }
    tested = {
        part.id
        for other in ast.walk(root)
        if isinstance(other, (ast.If, ast.IfExp)) and node not in set(ast.walk(other))
        for part in ast.walk(other.test)
        if isinstance(part, ast.Name)
    }
    return not around & tested


def is_twin(root: Root, operand: ast.expr, flow: Flow, found: Flows) -> bool:
    """Whether the exponent is the difference of two calls that were alike, and both are trained through."""
    if flow.live is None or len(flow.live) != 2 or sorted(factor for _, factor in flow.live) != [-1.0, 1.0]:
        return False
    (one, _), (other, _) = flow.live
    if found.likeness.get(one) != found.likeness.get(other):
        return False
    origins = [found.origins.get(atom, frozenset()) for atom in (one, other)]
    if not all(origin and origin <= found.trained for origin in origins):
        return False
    if not any(_MODEL.search(found.called.get(atom, "")) for atom in origins[0]):
        return False
    return any(_OLD.search(name) for name in names_behind(root, operand))


def names_behind(root: Root, node: ast.expr) -> set[str]:
    """The names in an expression, and in what its names are assigned in the same function."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    for other in ast.walk(root):
        if not isinstance(other, ast.Assign) or not isinstance(other.value, ast.BinOp):
            continue
        if not names.isdisjoint(target.id for target in other.targets if isinstance(target, ast.Name)):
            names = names | {part.id for part in ast.walk(other.value) if isinstance(part, ast.Name)}
    return names


# -- advantages ------------------------------------------------------------------------------------------------------


def leaks(module: PythonModule, root: Root, found: Flows) -> Iterator[tuple[Use, ast.expr, Use]]:
    """Products of something with log-probabilities, where that something reaches a value that a regression trains."""
    is_loss = not isinstance(root, ast.Module) and _LOSS.search(root.name) is not None
    if len(found.backwards) > 1:
        return  # between two backward passes an optimizer may drop what went astray
    reached = found.trained if found.backwards else found.returned if is_loss else frozenset()
    for product in found.products:
        for index, (factor, flow) in enumerate(product.operands):
            other, other_flow = product.operands[1 - index]
            if not is_log_prob(other) or is_log_prob(factor):
                continue
            own = found.reached(flow) - found.reached(other_flow)
            for regression in found.regressions:
                trained: frozenset[int] = frozenset()
                for node, value in regression.operands:
                    is_square = len(regression.operands) == 1 and is_critic_loss(regression.node, module)
                    is_own = is_square and value.form == flow.form is not None
                    trained |= found.reached(value) if is_own or is_value(node) else frozenset()
                hit = own & trained
                if hit and hit <= reached:
                    yield product, factor, regression
                    break


def is_log_prob(node: ast.expr) -> bool:
    return any(_LOG_PROB.search(name) for name in _last_names(node))


def is_value(node: ast.expr) -> bool:
    """Whether an operand of a regression is named like the prediction, not like its target."""
    names = _last_names(node)
    return any(_VALUE.search(name) for name in names) and not any(_NO_VALUE.search(name) for name in names)


def is_critic_loss(node: ast.expr, module: PythonModule) -> bool:
    """Whether what is computed here is called the loss of a critic."""
    statement = module.statement(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(_CRITIC_LOSS.search(name) for target in targets for name in _last_names(target))


def _last_names(node: ast.expr) -> list[str]:
    """The name an expression is known by, without the methods that are called on it and `torch.clamp` around it."""
    while isinstance(node, (ast.Call, ast.Subscript, ast.UnaryOp)):
        if isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif dotted(node.func) in _CLAMPS and node.args:
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return []
    return [(dotted(node) or "").rpartition(".")[2]]


# -- inference tensors -----------------------------------------------------------------------------------------------


def is_ids(node: ast.expr, call: ast.expr) -> bool:
    """Whether an argument of a model is its tokens, which the embedding keeps."""
    if not isinstance(call, ast.Call):
        return False
    is_first = bool(call.args) and call.args[0] is node
    return is_first or any(keyword.value is node and keyword.arg == "input_ids" for keyword in call.keywords)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


rule = PolicyLossGradient()
