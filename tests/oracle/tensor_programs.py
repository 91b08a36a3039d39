"""Small random tensor programs, each made from its number alone. What torch says about them: `tensor_verdicts.py`."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable

from tensor_expressions import Expressions, Scope

_HEAD = """\
import torch
import torch.distributed as dist
import torch.nn.functional as F
from dataclasses import dataclass
from typing import NamedTuple
"""


def program(number: int) -> str:
    """The text of one program; the same for the same number in every release of Python."""
    return _Program(random.Random(number)).text()


def checksum(numbers: list[int]) -> str:
    return hashlib.sha256("\0".join(program(number) for number in numbers).encode()).hexdigest()


class _Program(Expressions):
    """A function or a method, with its helpers."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, careful=rng.choice((0.75, 0.85, 0.92)))
        self.counter = 0

    # -- the whole ------------------------------------------------------------------------------------------------

    def text(self) -> str:
        rng = self.rng
        parts = [_HEAD]
        helpers = []
        if rng.random() < 0.5:
            base = rng.choice(("@dataclass\nclass Batch:", "class Batch(NamedTuple):"))
            parts.append(f"{base}\n    first: torch.Tensor\n    second: torch.Tensor\n")
            self.has_record = True
        else:
            self.has_record = False
        for _ in range(rng.choice((0, 1, 1, 2))):
            helpers.append(self.helper())
        main = self.method_program() if rng.random() < 0.3 else self.function_program()
        for name, text in reversed(helpers):  # one that never runs has no verdict
            main = f"{text}\n\n{main}" if name in main else main
        return "\n\n".join([*parts, main])

    def function_program(self) -> str:
        head = "def f(x: torch.Tensor, y: torch.Tensor, ids: torch.Tensor, device: torch.device, flag: bool):\n"
        scope = Scope({"v": ["x", "y"], "i": ["ids"]}, ["device", "x.device", "y.device"])
        return head + _indented(self.body(scope, self.rng.randint(3, 7)))

    def method_program(self) -> str:
        """A class with state, whose `step` calls another method of it."""
        rng = self.rng
        start = Scope({"v": ["weight"]}, ["device", "weight.device"])
        made = self.vector(start, 0)
        lines = ["self.device = device", "self.weight = weight", f"self.bias = {made}"]
        attributes = ["self.weight", "self.bias"] if rng.random() < 0.4 else ["self.weight"]
        scope = Scope({"v": ["x", "y"]}, ["self.device", "x.device"], is_method=True)
        inner = self.body(scope, rng.randint(1, 3))
        method = "def combine(self, x: torch.Tensor, y: torch.Tensor, flag: bool):\n" + _indented(inner)
        names = {"v": ["x", "y", *attributes], "i": ["ids"]}
        outer = Scope(names, ["self.device", "x.device", "device"], is_method=True)
        self.helpers.append(("self.combine", "({v}, {v}, flag)"))
        head = (
            "def step(self, x: torch.Tensor, y: torch.Tensor, ids: torch.Tensor, device: torch.device, flag: bool):\n"
        )
        body = self.body(outer, rng.randint(2, 6))
        if "self.combine(" not in "".join(body):
            body.insert(0, "start = self.combine(x, y, flag)")
        step = head + _indented(body)
        init = "def __init__(self, weight: torch.Tensor, device: torch.device):\n" + _indented(lines)
        members = "\n".join(_indented(part.rstrip("\n").split("\n")) for part in (init, method, step))
        call = "return Trainer(y, device).step(x, y, ids, device, flag)"
        return f"class Trainer:\n{members}\n\ndef f(x, y, ids, device, flag):\n    {call}\n"

    def helper(self) -> tuple[str, str]:
        """A function of the module: a maker of tensors, or one that works on what it is given."""
        rng = self.rng
        name = f"helper{len(self.helpers)}"
        kind = rng.randrange(5)
        if kind == 0:
            made = f"torch.{rng.choice(('zeros', 'ones', 'rand', 'empty'))}(n{self.told(Scope({}, []))})"
            body, shape = f"def {name}(n):\n    return {made}\n", "(4)"
        elif kind == 1:
            made = rng.choice(("torch.zeros(n, device=device)", "torch.arange(n, device=device).float()"))
            body = f"def {name}(n, device=None):\n    return {made}\n"
            shape = rng.choice(("(4, {d})", "(4, device={d})", "(4)"))
        elif kind == 2:
            lines = self.body(Scope({"v": ["p", "q"]}, ["p.device"]), rng.randint(1, 2), may_branch=False)
            body, shape = f"def {name}(p, q):\n" + _indented(lines), "({v}, {v})"
        elif kind == 3:
            body = f"def {name}(p, device):\n    moved = p.to(device)\n    return moved * 2.0\n"
            shape = "({v}, {d})"
        else:
            scope = Scope({"v": ["p", "q"]}, ["p.device"])
            body = f"def {name}(p, q):\n    return {self.vector(scope, 1)}, {self.vector(scope, 1)}\n"
            shape = rng.choice(("({v}, {v})[0]", "({v}, {v})[1]"))
        self.helpers.append((name, shape))  # now, so that none calls itself
        return name, body

    # -- statements -----------------------------------------------------------------------------------------------

    def body(self, scope: Scope, count: int, may_branch: bool = True) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            lines += self.statement(scope, may_branch)
        left, right = self.vector(scope, 0), self.vector(scope, 1)
        return [*lines, f"return {left} {self.rng.choice('*+-')} {right}"]

    def statement(self, scope: Scope, may_branch: bool) -> list[str]:
        makers: list[Callable[[Scope], list[str]]] = [self.assignment] * 9 + [self.containers] * 4 + [self.changed] * 2
        if may_branch:
            makers += [self.branch, self.branch, self.loop, self.loop, self.block]
        return self.rng.choice(makers)(scope)

    def name(self, scope: Scope) -> str:
        self.counter += 1
        if scope.is_method and self.rng.random() < 0.15:
            return f"self.state{self.counter}"
        return self.rng.choice("abcdeh") + (str(self.counter) if self.rng.random() < 0.6 else "")

    def assignment(self, scope: Scope) -> list[str]:
        kind = self.rng.choice("vvvvvmmiss")
        value = {"v": self.vector, "m": self.mask, "i": self.index, "s": self.scalar}[kind](scope, 2)
        name = self.name(scope)
        scope.bind(kind, name)
        return [f"{name} = {value}"]

    def containers(self, scope: Scope) -> list[str]:
        rng, name = self.rng, self.name(scope)
        one, two = self.vector(scope, 1), self.vector(scope, 1)
        kind = rng.randrange(7)
        if kind == 0:
            scope.bind("list", name)
            return [f"{name} = [{one}]", f"{name}.append({two})"]
        if kind == 1:
            scope.bind("dict", name)
            if rng.random() < 0.5:
                return [f'{name} = {{"first": {one}}}', f'{name}["second"] = {two}']
            return [f'{name} = {{"first": {one}, "second": {two}}}']
        if kind == 2 and self.has_record:
            scope.bind("record", name)
            return [f"{name} = Batch({one}, {rng.choice(('', 'second='))}{two})"]
        if kind == 3:
            other = self.name(scope)
            for bound in (name, other) if name != other else ():
                scope.bind("v", bound)
            return [f"{name}, {other} = {one}, {two}"] if name != other else []
        if kind == 4 and scope.names.get("dict"):
            source, place = rng.choice(scope.names["dict"]), self.place(scope)
            scope.bind("dict", name)
            return [f"{name} = {{key: value.to({place}) for key, value in {source}.items()}}"]
        if kind == 5 and scope.names.get("list"):
            source = rng.choice(scope.names["list"])
            item = rng.choice((f"item.to({self.place(scope)})", "item * 2.0", "item.float()"))
            scope.bind("list", name)
            return [f"{name} = [{item} for item in {source}]"]
        scope.bind("pair", name)
        return [f"{name} = ({one}, {two})"]

    def changed(self, scope: Scope) -> list[str]:
        """Something that is there already is changed, filled or communicated."""
        rng = self.rng
        name = rng.choice(scope.names["v"])
        kind = rng.randrange(6)
        if kind == 0:
            return [f"{name} = {name}.clone()", f"{name}[:2] = {self.vector(scope, 1)}[:2]"]
        if kind == 1:
            return [f"{name} = {name} * 1.0", f"{name} {rng.choice('+*')}= {self.vector(scope, 1)}"]
        if kind == 2:
            return [f"{name} = {name}.clone().masked_fill_({self.mask(scope, 1)}, 0.0)"]
        if kind == 3:
            made = self.name(scope)
            value = rng.choice((self.vector, self.scalar))(scope, 1)
            scope.bind("s", made)
            return [f"{made} = ({value}).sum()", f"dist.all_reduce({made})"]
        if kind == 4:
            return [f"{name} = {name}.to({self.place(scope)})"]
        return [f"{name} = {name}.{rng.choice(('cuda()', 'detach().clone()', 'float()'))}"]

    def branch(self, scope: Scope) -> list[str]:
        rng, name = self.rng, self.name(scope)
        kind = rng.randrange(5)
        if kind == 0:
            found = [f"if flag:\n    {name} = {self.vector(scope, 1)}\nelse:\n    {name} = {self.vector(scope, 1)}"]
            scope.bind("v", name)
            return found
        if kind == 1:
            first = f"{name} = {self.vector(scope, 1)}"
            scope.bind("v", name)
            return [first, f"if flag:\n    {name} = {name}.to({self.place(scope)})"]
        if kind == 2:
            return [f"if flag:\n    return {self.vector(scope, 1)}"]
        if kind == 3:
            first = f"{name} = None"
            second = f"if {name} is None:\n    {name} = {self.vector(scope, 1)}"
            scope.bind("v", name)
            return [first, second]
        inner = scope.inner()
        lines = [line for _ in range(2) for line in self.assignment(inner)]
        return ["if not flag:\n" + _indented(lines).rstrip("\n")]

    def loop(self, scope: Scope) -> list[str]:
        rng, name = self.rng, self.name(scope)
        kind = rng.randrange(4)
        first = f"{name} = {self.vector(scope, 1)}"
        if kind == 0:
            change = self.vector(scope, 1)
            scope.bind("v", name)
            return [first, f"for step in range(2):\n    {name} = {name} {rng.choice('+*')} {change}"]
        if kind == 1:
            items = ", ".join(self.vector(scope, 1) for _ in range(2))
            scope.bind("v", name)
            return [first, f"for item in [{items}]:\n    {name} = {name} + item"]
        if kind == 2:
            parts = f"parts{self.counter}"
            value = self.vector(scope, 1)
            scope.bind("v", name)
            return [f"{parts} = []", f"for step in range(2):\n    {parts}.append({value})", f"{name} = {parts}[0]"]
        source = rng.choice(scope.names["dict"]) if scope.names.get("dict") else ""
        scope.bind("v", name)
        return [first, f"for key, value in {source}.items():\n    {name} = {name} + value"] if source else [first]

    def block(self, scope: Scope) -> list[str]:
        kind = self.rng.randrange(8)
        inner = self.assignment(scope) + self.assignment(scope)
        if kind == 0:
            return [f"with torch.device({self.rng.choice(scope.devices)}):\n" + _indented(inner).rstrip("\n")]
        if kind in (1, 2):
            return ["try:\n" + _indented(inner) + "finally:\n    pass"]
        return [f"with torch.{self.rng.choice(('no_grad', 'enable_grad'))}():\n" + _indented(inner).rstrip("\n")]


def _indented(lines: list[str]) -> str:
    return "".join(f"    {part}\n" if part else "\n" for line in lines for part in line.rstrip("\n").split("\n"))
