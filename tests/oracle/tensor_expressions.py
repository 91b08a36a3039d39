"""The expressions of random tensor programs (`tensor_programs.py`): where tensors are, and what is done to them."""

from __future__ import annotations

import random

FIELDS = ("first", "second")


class Scope:
    """The names of a function that are bound here, by what they hold, and the device expressions in reach."""

    def __init__(self, names: dict[str, list[str]], devices: list[str], is_method: bool = False) -> None:
        self.names = names
        self.devices = devices
        self.is_method = is_method

    def inner(self) -> Scope:
        return Scope({kind: list(found) for kind, found in self.names.items()}, self.devices, self.is_method)

    def bind(self, kind: str, name: str) -> None:
        for found in self.names.values():
            if name in found:
                found.remove(name)
        self.names.setdefault(kind, []).append(name)


class Expressions:
    """Vectors of four floats (`v`), masks (`m`), indices (`i`), 0-dim tensors (`s`), lists, dicts, pairs, records.

    `careful`: how often a factory is told its device; `helpers`: what follows the name in a call, and the name.
    """

    def __init__(self, rng: random.Random, careful: float) -> None:
        self.rng = rng
        self.careful = careful
        self.helpers: list[tuple[str, str]] = []

    def place(self, scope: Scope) -> str:
        choices = [*scope.devices, '"cuda"'] if scope.devices else ['"cuda"']
        return self.rng.choice(choices)

    def told(self, scope: Scope, is_bare: bool = False) -> str:
        if is_bare or self.rng.random() > self.careful:
            return ""
        return f", device={self.place(scope)}"

    def factory(self, scope: Scope, is_bare: bool = False) -> str:
        rng, told = self.rng, self.told(scope, is_bare)
        sizes = ["4", "4", "(4,)"]
        if "x" in scope.names.get("v", ()):
            sizes += ["x.size(0)", "x.shape[0]", "len(x)"]
        size = rng.choice(sizes)
        kind = rng.randrange(7)
        if kind < 3:
            return f"torch.{rng.choice(('zeros', 'ones', 'rand', 'randn', 'empty'))}({size}{told})"
        if kind == 3:
            return f"torch.full((4,), {rng.choice(('2.0', '-1.0'))}{told})"
        if kind == 4:
            return f"torch.arange(4{told}).float()"
        if kind == 5:
            return f"torch.tensor([1.0, 2.0, 3.0, 4.0]{told})"
        return f"torch.linspace(0, 1, 4{told})"

    def known(self, scope: Scope) -> str:
        """A vector that is there, by its name or out of a container."""
        rng = self.rng
        found = list(scope.names.get("v", ()))
        found += [f"{name}[{rng.randrange(2)}]" for kind in ("list", "pair") for name in scope.names.get(kind, ())]
        found += [f'{name}["{rng.choice(FIELDS)}"]' for name in scope.names.get("dict", ())]
        found += [f"{name}.{rng.choice(FIELDS)}" for name in scope.names.get("record", ())]
        return rng.choice(found) if found else self.factory(scope)

    def vector(self, scope: Scope, depth: int) -> str:
        rng, roll = self.rng, self.rng.random()
        if depth == 0:
            return self.known(scope) if roll < 0.8 else self.factory(scope)
        if roll < 0.25:
            return self.known(scope)
        if roll < 0.45:
            return self.factory(scope)
        one = self.known(scope)
        if roll < 0.55:
            return self.alike(one)
        if roll < 0.62 and self.helpers:
            return self.call(scope, depth)
        if roll < 0.7:
            return self.moved(scope, one)
        if roll < 0.78:
            return one + rng.choice(
                (
                    ".float()",
                    ".clone()",
                    ".abs().exp()",
                    ".unsqueeze(0).squeeze(0)",
                    ".view(-1)",
                    ".cumsum(0)",
                    ".flip(0)",
                    ".softmax(-1)",
                    ".detach()",
                    ".to(torch.float32)",
                )
            )
        return self.operation(scope, one, depth - 1)

    def alike(self, one: str) -> str:
        return self.rng.choice(
            (
                f"torch.zeros_like({one})",
                f"torch.full_like({one}, 2.0)",
                f"torch.rand_like({one})",
                f"{one}.new_zeros(4)",
                f"{one}.new_full((4,), 1.0)",
                f"{one}.new_tensor([1.0, 2.0, 3.0, 4.0])",
            )
        )

    def moved(self, scope: Scope, one: str) -> str:
        rng = self.rng
        place = self.place(scope)
        if rng.random() < 0.06:
            return one + rng.choice((".cpu()", ".detach().cpu()", f".cpu().to({place})", f".cpu().abs().to({place})"))
        return rng.choice(
            (
                f"{one}.to({place})",
                f"{one}.to({place})",
                f"{one}.to(device={place})",
                f"{one}.cuda()",
                f"{one}.to({place}, torch.float32)",
                f"{one}.type_as({self.known(scope)})",
            )
        )

    def operation(self, scope: Scope, one: str, depth: int) -> str:
        rng = self.rng
        two = self.vector(scope, depth)
        kind = rng.randrange(14)
        if kind < 3:
            return f"({one} {rng.choice('+-*')} {two})"
        if kind == 3:
            return f"torch.where({self.mask(scope, depth)}, {one}, {rng.choice((two, '0.0', self.scalar(scope, 0)))})"
        if kind == 4:
            return f"{one}.masked_fill({self.mask(scope, depth)}, 0.0)"
        if kind == 5:
            return f"torch.cat([{one}, {two}])[:4]"
        if kind == 6:
            return f"torch.stack([{one}, {two}]).mean(0)"
        if kind == 7:
            return rng.choice(
                (
                    f"torch.maximum({one}, {two})",
                    f"torch.minimum({one}, {two})",
                    f"torch.max({one}, {two})",
                    f"{one}.clamp(min={two})",
                    f"torch.clamp({one}, max={self.scalar(scope, 0)})",
                )
            )
        if kind == 8:
            picked = self.index(scope, depth)
            return rng.choice(
                (
                    f"torch.gather({one}, 0, {picked})",
                    f"{one}.gather(0, {picked})",
                    f"{one}.index_select(0, {picked})",
                    f"{one}[{picked}]",
                )
            )
        if kind == 9:
            return f"({one} * {self.scalar(scope, 1)})"
        if kind == 10:
            return f'F.mse_loss({one}, {two}, reduction="none")'
        if kind == 11:
            return f"({one} if flag else {two})" if "flag" not in one + two and scope.devices != ["p.device"] else one
        if kind == 12:
            return f"[{two} * item for item in ({one}, {two})][{rng.randrange(2)}]"
        return rng.choice((f"{one}.mul({two})", f"torch.lerp({one}, {two}, 0.5)", f"torch.outer({one}, {two}).sum(0)"))

    def call(self, scope: Scope, depth: int) -> str:
        name, shape = self.rng.choice(self.helpers)
        if name.startswith("self.") and not scope.is_method:
            return self.known(scope)
        while "{v}" in shape:
            shape = shape.replace("{v}", self.vector(scope, max(depth - 1, 0)), 1)
        return name + shape.replace("{d}", self.place(scope))

    def mask(self, scope: Scope, depth: int) -> str:
        rng = self.rng
        found = scope.names.get("m", [])
        if found and rng.random() < 0.4:
            return rng.choice(found)
        one, told = self.vector(scope, max(depth - 1, 0)), self.told(scope)
        return rng.choice(
            (
                f"({one} > 0)",
                f"({one} > 0)",
                f"{one}.ne(0)",
                f"torch.ones(4, dtype=torch.bool{told})",
                f"(torch.arange(4{told}) < {rng.choice(('2', self.scalar(scope, 0)))})",
                f"torch.ones_like({one}, dtype=torch.bool)",
                f"torch.zeros(4{told}).bool()",
                f"({one} >= {self.known(scope)})",
                f"torch.isin({self.index(scope, 0)}, torch.tensor([1, 2]{told}))",
                f"(({one} > 0) & ({self.known(scope)} < 1))",
                f"~({one} > 0)",
            )
        )

    def index(self, scope: Scope, depth: int) -> str:
        rng, told = self.rng, self.told(scope)
        found = scope.names.get("i", [])
        if found and rng.random() < 0.6:
            return rng.choice(found)
        return rng.choice(
            (
                f"torch.arange(4{told})",
                f"torch.randperm(4{told})",
                f"torch.randint(0, 4, (4,){told})",
                f"torch.argsort({self.vector(scope, 0)})",
                f"torch.tensor([3, 2, 1, 0]{told})",
                f"{self.vector(scope, 0)}.argsort()",
                f"torch.arange(4{told}).flip(0)",
            )
        )

    def scalar(self, scope: Scope, depth: int) -> str:
        rng = self.rng
        found = scope.names.get("s", [])
        if found and rng.random() < 0.3:
            return rng.choice(found)
        one = self.vector(scope, max(depth - 1, 0))
        return rng.choice(
            (
                f"{one}.sum()",
                f"{one}.mean()",
                f"{one}.max()",
                f"{one}[0]",
                "torch.tensor(1.0)",
                f"torch.tensor(2.0{self.told(scope)})",
                "torch.zeros(())",
                f"torch.tensor({one}.mean().item())",
                f"F.mse_loss({one}, {self.known(scope)})",
                f"torch.tensor(float({one}.size(0)))",
            )
        )
