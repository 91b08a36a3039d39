"""What calls do to gradients: functions and methods of torch, models, and functions of the same file."""

from __future__ import annotations

import ast

from trl_lint.python.dataflow import callees
from trl_lint.python.dataflow import torch_facts as torch
from trl_lint.python.dataflow.flow import UNKNOWN, ZERO, Flow, detached, join
from trl_lint.python.dataflow.interpreter import Env, dotted
from trl_lint.python.dataflow.modes import mode_of
from trl_lint.python.dataflow.readings import is_model_call
from trl_lint.python.dataflow.recorder import Forward, Recorder
from trl_lint.python.guards import last_name
from trl_lint.python.module import FunctionNode
from trl_lint.python.values import literal

_MOST_CALLS_DEEP = 3  # calls in calls; what one further in returns is unknown


class GradientCalls(Recorder):
    """The part of the analysis that knows calls; `evaluate` and the rest of the domain come from the subclass."""

    def evaluate(self, node: ast.expr, env: Env[Flow]) -> Flow:
        raise NotImplementedError

    def runs(self, function: FunctionNode, env: Env[Flow]) -> None:
        raise NotImplementedError

    def start(self) -> Env[Flow]:
        if isinstance(self._function, ast.Module):
            return {}
        spec = self._function.args
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
        env = {name: self.existing(("parameter", name, self._calling), name) for name in names}
        for name, flow in env.items():
            self.call_it(name, flow)
            self._parameters |= {atom for atom, _ in flow.form or ()}
        env.update((extra.arg, UNKNOWN) for extra in (spec.vararg, spec.kwarg) if extra is not None)
        return env

    def _squared(self, node: ast.expr, base: ast.expr, flow: Flow, env: Env[Flow]) -> None:
        """A square fits what is in it; of a written difference, its two sides."""
        sides = [base.left, base.right] if isinstance(base, ast.BinOp) and isinstance(base.op, ast.Sub) else []
        self.note("regression", node, [(side, self.evaluate(side, env)) for side in sides] or [(base, flow)])

    def _call(self, node: ast.Call, env: Env[Flow]) -> Flow:
        func = node.func
        values = [self.evaluate(arg, env) for arg in node.args]
        keywords = {keyword.arg: self.evaluate(keyword.value, env) for keyword in node.keywords}
        name = last_name(func)
        if name == "backward":
            owner = [self.evaluate(func.value, env)] if isinstance(func, ast.Attribute) else []
            self.train(node, [*values, *keywords.values(), *owner])
            return UNKNOWN
        if self._is_torch(func):
            # Tensors that are given by name come behind those that are not, in the order in which they are written.
            tensors = [keyword for keyword in node.keywords if keyword.arg in torch.TENSOR_ARGUMENTS]
            named = [(keyword.value, keywords[keyword.arg]) for keyword in tensors]
            return self._torch(node, name, [*zip(node.args, values, strict=True), *named])
        followed = self._followed(node, values, keywords, env)
        if followed is not None:
            return followed
        if isinstance(func, ast.Attribute):
            base = self.evaluate(func.value, env)
            known = self._method(node, func, base, values, env)
            if known is not None:
                return known
            # A method nobody knows may change its object.
            target = dotted(func.value)
            if target is not None and target in env and target != "self" and not is_model_call(func):
                env[target] = UNKNOWN
        return self._unknown_call(node, values, keywords, env)

    def _is_torch(self, func: ast.expr) -> bool:
        origins = self.module.names.origins(func)
        return bool(origins) and all(origin.startswith("torch.") for origin in origins)

    def _torch(self, node: ast.Call, name: str, operands: list[tuple[ast.expr, Flow]]) -> Flow:
        values = [value for _, value in operands]
        if name == "grad":
            self.train(node, values)  # `torch.autograd.grad`
        if name == "exp" and operands:
            self.note("exp", node, operands[:1])
        if name in torch.REGRESSIONS and len(operands) >= 2:
            self.note("regression", node, operands[:2])
        if name in torch.FACTORIES or name in torch.DATA_FACTORIES:
            made = self.fresh(("call", node, self._calling))
            return detached(made)._replace(is_inference=self.mode == "inference")
        if name in torch.SAVING_FUNCTIONS and len(operands) >= 2:
            self.note("saved", node, operands)
        if name in torch.DIFFERENTIABLE and values:
            found = self._pure(node, name, values)
            is_new = self.mode == "inference" and name not in torch.VIEWS
            return found._replace(is_inference=found.is_inference or is_new) if found.kind == "value" else found
        if name in torch.NOT_DIFFERENTIABLE:
            return detached(self.fresh(("call", node, self._calling)))._replace(is_inference=self.mode == "inference")
        return UNKNOWN._replace(is_inference=self.mode == "inference" and name in torch.MIXING_FUNCTIONS)

    def _pure(self, node: ast.Call, name: str, values: list[Flow]) -> Flow:
        """An operation that gives the same for the same operands, written with the same options."""
        options = tuple(sorted(f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in node.keywords))
        return self.kept(self.derived((name, options), values, at=node), values[0], values[0])

    def _method(
        self, node: ast.Call, func: ast.Attribute, owner: Flow, values: list[Flow], env: Env[Flow]
    ) -> Flow | None:
        """What a method of a tensor gives; None if it may be a method of something else."""
        name = func.attr
        if name == "exp":
            self.note("exp", node, [(func.value, owner)])
            return self._pure(node, name, [owner])
        if name in ("pow", "square"):
            if name == "square" or (node.args and literal(node.args[0]) == 2):
                self._squared(node, func.value, owner, env)
            return self._pure(node, name, [owner, *values])
        if name in ("detach", "detach_"):
            return detached(owner)
        if name in ("item", "tolist", "numpy", "cpu_numpy", "long", "int", "bool", "argmax", "argmin"):
            return detached(self.fresh(("call", node, self._calling)))
        if name in ("gather", "index_select", "masked_fill") and values:
            self.note("saved", node, [(func.value, owner), *zip(node.args, values, strict=False)])
        if name in torch.SAME_NUMBERS:
            return self._retyped(name, owner)
        if name in torch.VIEWS:
            view = self._pure(node, name, [owner, *values])
            return view._replace(is_inference=owner.is_inference)
        if name in torch.DIFFERENTIABLE_METHODS:
            return self._pure(node, name, [owner, *values])
        return None

    def _retyped(self, name: str, owner: Flow) -> Flow:
        """The same numbers. Where nothing changes it is the same tensor, whatever the mode; a copy is not."""
        if owner.kind == "value" and self.mode != "grad" and name != "clone" and owner.live != ZERO:
            return owner._replace(live=None, is_inference=False)
        return self.settled(owner)._replace(is_inference=owner.is_inference and self.mode == "inference")

    def _unknown_call(
        self, node: ast.Call, values: list[Flow], keywords: dict[str | None, Flow], env: Env[Flow]
    ) -> Flow:
        """A value of its own. A model among the names gives what gradients flow through."""
        func = node.func
        bound = env.get(func.id) if isinstance(func, ast.Name) else None
        called: object = self.alike(bound) if bound is not None and bound.form is not None else ast.unparse(func)
        named = tuple((key, self.alike(value)) for key, value in keywords.items())
        likeness = ("call", called, tuple(self.alike(value) for value in values), named)
        result = self.fresh(("call", node, self._calling), likeness)
        self._called.update((atom, ast.unparse(func)) for atom, _ in result.form or ())
        if is_model_call(func):
            is_generation = last_name(func) == "generate"
            if not is_generation and result.form is not None:
                ((atom, _),) = result.form
                self._forwards[node, self._calling] = Forward(node, self._model_name(func, env), self.mode, atom)
                given = [*node.args, *(keyword.value for keyword in node.keywords)]
                self.note("saved", node, list(zip(given, [*values, *keywords.values()], strict=True)))
            result = result._replace(is_inference=self.mode == "inference")
            return detached(result) if is_generation else result
        return result

    def _model_name(self, func: ast.expr, env: Env[Flow]) -> str:
        """The name of a model, for a parameter of a function that was followed the name that its caller has for it."""
        if isinstance(func, ast.Attribute) and func.attr == "forward":
            func = func.value
        name = dotted(func) or ""
        for atom, _ in (env[name].form or ()) if name in env else ():
            return self._names.get(atom, name)
        return name

    def _followed(
        self, node: ast.Call, values: list[Flow], keywords: dict[str | None, Flow], env: Env[Flow]
    ) -> Flow | None:
        """What a function of this module returns for these arguments; None if that is not to be found out."""
        is_method = isinstance(node.func, ast.Attribute)
        if len(self._calling) >= _MOST_CALLS_DEEP:
            return None
        callee = callees.callee(self.module, node.func, self._function)
        if callee is None or callee is self._function:
            return None
        bound = callees.bound(callee, node, values, keywords, is_method)
        if bound is None:
            return None
        outer = (self._function, self._returned, self._calling, self.mode)
        for arg, value in zip(node.args, values, strict=False):
            self.call_it(dotted(arg) or "", value)
        self._function, self._returned, self._calling = callee, [], (*self._calling, node)
        self.mode = mode_of(callee) or self.mode
        start = self.start()
        start.update((name, value) for name, value in bound.items() if value.form is not None or value.kind != "value")
        self.runs(callee, start)
        result = self._returned[0] if self._returned else UNKNOWN
        for other in self._returned[1:]:
            result = join(result, other)
        self._function, self._returned, self._calling, self.mode = outer
        return result
