"""Projects of any size, the same at every run: mostly ordinary Python, some training code, configs, launch scripts.

Shares and sizes follow public training repositories: most files concern no rule, one in ten trains something, one in
thirty is wrong.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable

from benchmarks.samples import REQUIREMENTS, training_script

_NAMES: list[str] = re.findall(
    r"\w+",
    """batch cache config data epoch field group index item key label layer loss mask model name path prompt rank record
    result row sample score shard split state step table text token value weight window worker""",
)
_A_FOLDER = 40  # files in one folder


class Words:
    """Draws names and numbers."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def name(self) -> str:
        return self.chance.choice(_NAMES)

    def pair(self) -> str:
        return f"{self.name()}_{self.name()}"

    def number(self) -> int:
        return self.chance.randrange(1, 2000)


def _function(words: Words, indent: str = "") -> str:
    a, b, c = words.pair(), f"{words.pair()}s", f"known_{words.pair()}"
    lines = [
        f"def {a}_{words.number()}({b}, {c}=None, **options):",
        f'    """The {words.name()} of every {words.name()}, by {words.name()}."""',
        f"    {words.name()}s = {{}}",
    ]
    for _ in range(words.chance.randint(1, 5)):
        x, y = words.name(), words.pair()
        lines += words.chance.choice(
            (
                [f"    for {x} in {b}:", f"        {y} = {x}.get({words.name()!r}, {words.number()})"],
                [
                    f"    if {c} is not None and len({c}) > {words.number()}:",
                    f"        raise ValueError(f'{y}: {{{c}}}')",
                ],
                [f"    {y} = [{x} for {x} in {b} if {x} and {x} != {words.number()}]"],
                [
                    f"    with open(os.path.join({words.pair()!r}, str({c}))) as stream:",
                    f"        {y} = json.load(stream)",
                ],
                [f"    {y} = dict(sorted(options.items()), {x}={words.number()}, {words.pair()}={words.name()!r})"],
            )
        )
    lines += [f"    return {b}", "", ""]
    return "\n".join(indent + line if line else "" for line in lines)


def _plain(words: Words) -> str:
    head = "import json\nimport os\nfrom collections import defaultdict\n\n\n"
    return head + "\n".join(_function(words) for _ in range(words.chance.randint(6, 30)))


def _class(words: Words, base: str) -> str:
    methods = "\n".join(_function(words, "    ").replace("(", "(self, ", 1) for _ in range(words.chance.randint(2, 8)))
    return f"class {words.name().title()}{words.number()}({base}):\n{methods}\n"


def _model(words: Words) -> str:
    head = "import json\nimport os\n\nimport torch\nfrom torch import nn\n\n\n"
    layer = f"""\
class {words.name().title()}Layer(nn.Module):
    def __init__(self, hidden, heads={words.number()}):
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.inner = nn.Linear(hidden, heads)
        self.register_buffer("mask", torch.ones(hidden, dtype=torch.bool))

    def forward(self, states, attention_mask=None):
        bias = torch.zeros(states.shape[-1], device=states.device)
        scores = self.inner(self.norm(states)) + bias
        if attention_mask is not None:
            scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
        return torch.softmax(scores, dim=-1)


"""
    return head + layer + _class(words, "nn.Module") + "\n\n" + _class(words, "nn.Module")


def _dataset(words: Words) -> str:
    head = "import json\nimport os\n\nfrom datasets import load_dataset\nfrom transformers import AutoTokenizer\n\n\n"
    body = f"""\
def tokenized(name, split="train"):
    tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B", padding_side="left")
    dataset = load_dataset(name, split=split)
    return dataset.map(lambda row: tokenizer(row["{words.name()}"], max_length={words.number()}), batched=True)


"""
    return head + body + "\n".join(_function(words) for _ in range(words.chance.randint(2, 6)))


def _test(words: Words) -> str:
    head = "import os\nimport json\n\nimport pytest\n\n\n"
    return head + "\n".join("def test_" + _function(words)[4:] for _ in range(words.chance.randint(5, 25)))


def _training(words: Words) -> str:
    return training_script(words.chance.random() < 0.3, words.number())


def _yaml(words: Words) -> str:
    keys = "\n".join(f"  {words.pair()}: {words.number()}" for _ in range(words.chance.randint(5, 30)))
    return f"defaults:\n  - _self_\n{words.name()}:\n{keys}\n"


def _accelerate(words: Words) -> str:
    processes = words.chance.choice((1, 2, 4, 8))
    return (
        "compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: MULTI_GPU\ndowncast_bf16: 'no'\n"
        "machine_rank: 0\nmain_training_function: main\nmixed_precision: bf16\nnum_machines: 1\n"
        f"num_processes: {processes}\nrdzv_backend: static\nsame_network: true\nuse_cpu: false\n"
    )


def _markdown(words: Words) -> str:
    text = "\n\n".join(" ".join(words.pair() for _ in range(40)) for _ in range(words.chance.randint(2, 12)))
    return f"# {words.name()}\n\n{text}\n\n```sh\npip install -e .\npython -m {words.pair()}\n```\n"


def _launch(words: Words) -> str:
    processes = words.chance.choice((2, 4, 8))
    return (
        f"#!/bin/bash\nset -e\nexport TOKENIZERS_PARALLELISM=false\nOUTPUT=runs/{words.pair()}\n"
        f"accelerate launch --num_processes {processes} train.py --output $OUTPUT --seed {words.number()}\n"
    )


# How many of a hundred files are of which kind.
_KINDS: tuple[tuple[int, str, Callable[[Words], str]], ...] = (
    (56, "py", _plain),
    (12, "py", _model),
    (8, "py", _dataset),
    (8, "py", _test),
    (6, "py", _training),
    (3, "yaml", _yaml),
    (1, "yaml", _accelerate),
    (3, "md", _markdown),
    (3, "sh", _launch),
)


def write_project(folder: str, files: int, seed: int = 1) -> int:
    """Write a project of so many files besides its requirements; returns how many bytes they have.

    A folder holds forty files, and where there is a launch script in it, also the `train.py` that the script starts.
    """
    chance = random.Random(f"{seed}/{files}")
    words = Words(chance)
    hundred = [(suffix, make) for share, suffix, make in _KINDS for _ in range(share)]
    _write(os.path.join(folder, "requirements.txt"), REQUIREMENTS)
    size = 0
    for number in range(files):
        if number % len(hundred) == 0:  # as many of each kind in every hundred: large and small projects are alike
            chance.shuffle(hundred)
        suffix, make = hundred[number % len(hundred)]
        place = os.path.join(folder, f"part{number // _A_FOLDER // 10}", f"unit{number // _A_FOLDER}")
        name = "train.py" if number % _A_FOLDER == 0 else f"{words.pair()}_{number}.{suffix}"
        text = training_script(False, number) if name == "train.py" else make(words)
        size += _write(os.path.join(place, name), text)
    return size


def write_clean(folder: str, files: int) -> None:
    """A project in which nothing is wrong, Python only: what a plugin has to look at for nothing."""
    words = Words(random.Random(files))
    makes = (_plain, _plain, _model, _dataset, _test, lambda w: training_script(False, w.number()))
    _write(os.path.join(folder, "requirements.txt"), REQUIREMENTS)
    for number in range(files):
        _write(
            os.path.join(folder, f"unit{number // _A_FOLDER}", f"{words.pair()}_{number}.py"), makes[number % 6](words)
        )


def _write(path: str, text: str) -> int:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = text.encode()
    with open(path, "wb") as stream:
        stream.write(data)
    return len(data)
