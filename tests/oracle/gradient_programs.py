"""Random programs about gradients, and what torch says about their result.

    python tests/oracle/gradient_programs.py            # where torch is installed; writes gradient_programs.json

Each program is the body of `f(x, d, w)`: x asks for gradients, d and w do not. torch answers whether the result asks
for gradients, whether it is an inference tensor, and whether its gradient and its values are zero throughout. A
program that torch refuses is kept with "error". tests/python/test_gradient.py compares.
"""

import json
import random
from pathlib import Path

COUNT = 2_000
UNARY = (
    """
{}.float() | -{} | {} * 2 | {} / 3 | torch.exp({}) | {}.sum(-1, keepdim=True) | {}.detach() | {}.clone() | {}.data
{}[:, 1:].mean() | torch.sigmoid({}) | {}.unsqueeze(0) | {} + 1 | torch.log_softmax({}, dim=-1) | {} ** 2
h({}) | g({}) | {}.contiguous() | torch.ones_like({}) | {}.argmax(-1) | ({} > 0) | {}.view(-1)
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
BINARY = ("{} - {}", "{} + {}", "{} * {}", "torch.where({} > 0, {}, {})", "torch.min({}, {})", "{} / {}")
BLOCKS = """
with torch.no_grad():
with torch.inference_mode():
with torch.inference_mode():
with torch.enable_grad():
if w.sum() > 0:
if w.sum() < 0:
for _ in range(2):
""".strip().split("\n")


def program(random_: random.Random) -> str:
    """A few assignments, some of them in blocks; the result is always called y."""
    names = ["x", "d", "w"]
    lines: list[str] = []

    def expression() -> str:
        if random_.random() < 0.5:
            return random_.choice(UNARY).strip().format(random_.choice(names))
        pattern = random_.choice(BINARY)
        left = random_.choice(names)
        right = left if random_.random() < 0.25 else random_.choice(names)
        return pattern.format(*(left, right, left)[: pattern.count("{}")])

    for index in range(random_.randint(2, 6)):
        name = random_.choice([*names[3:], f"v{index}"]) if random_.random() < 0.4 else f"v{index}"
        if random_.random() < 0.35:
            lines += [f"{name} = {random_.choice(names)}", random_.choice(BLOCKS), f"    {name} = {expression()}"]
        else:
            lines.append(f"{name} = {expression()}")
        names += [name] * 2
    lines.append(f"y = {expression()}")
    return "\n".join(lines)


def verdict(body: str) -> dict[str, object]:
    import torch

    @torch.no_grad()
    def g(value):  # type: ignore[no-untyped-def]
        return value * 2

    def h(value):  # type: ignore[no-untyped-def]
        return value.tanh() - value

    torch.manual_seed(0)
    x = torch.rand(3, 3) + 0.5
    scope = {"torch": torch, "x": x.requires_grad_(), "g": g, "h": h}
    scope.update({name: torch.rand(3, 3) + 0.5 for name in "dw"})
    try:
        exec(body, scope)
        y = scope["y"]
        if bool(y.isnan().any()):
            return {"error": "nan"}
        asks = bool(y.requires_grad)
        gradient = torch.autograd.grad(y.sum(), x, allow_unused=True)[0] if asks else None
    except (RuntimeError, IndexError, TypeError) as error:
        return {"error": str(error).partition(".")[0]}
    moves = gradient is not None and bool(gradient.abs().max() > 1e-5)
    return {"live": asks, "moves": moves, "inference": y.is_inference(), "zero": bool(y.double().abs().max() < 1e-7)}


def main() -> None:
    random_ = random.Random(703)
    bodies = dict.fromkeys(program(random_) for _ in range(COUNT))
    rows = [{"body": body, **verdict(body)} for body in bodies]
    path = Path(__file__).with_suffix(".json")
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "utf-8")
    print(len(rows), "programs,", sum("error" in row for row in rows), "refused")


if __name__ == "__main__":
    main()
