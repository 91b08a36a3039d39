"""Objects of known classes that go through functions of their file, and the fields that their release has no longer."""

from __future__ import annotations

import pytest
from command_line import Shell

PINS = "trl==0.28.0\ntransformers==4.57.6\n"
HEAD = "from trl import GRPOConfig, ModelConfig, ScriptArguments, SFTConfig, TrlParser\n"
PARSED = "a, b, c{rest} = TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_and_config({how})\n"
READ = "torch_dtype"  # of ModelConfig up to TRL 0.27: `dtype` since

# How a function gets at the object that it reads the field of.
HANDED = {
    "in its place": "def main(s, t, model_args):\n    return model_args.{field}\n" + PARSED + "main(a, b, c)\n",
    "by name": "def main(s, *, model_args):\n    return model_args.{field}\n" + PARSED + "main(a, model_args=c)\n",
    "further": "def load(m):\n    return m.{field}\ndef main(x):\n    return load(x)\n" + PARSED + "main(c)\n",
    "at once": "def main(m):\n    return m.{field}\nmain(ModelConfig())\n",
    "in two calls": "def main(m):\n    return m.{field}\n" + PARSED + "main(c)\nmain(ModelConfig())\n",
    "in a closure": "def main(m):\n    def f():\n        return m.{field}\n    return f()\n" + PARSED + "main(c)\n",
    "from a call that makes it": "def make():\n    return ModelConfig()\nprint(make().{field})\n",
    "of a name that a call gave": "def make():\n    made = ModelConfig()\n    return made\nc = make()\nc.{field}\n",
    "of a parser that a call makes": "def make():\n    return TrlParser((ScriptArguments, ModelConfig))\n"
    "a, c = make().parse_args_and_config()\nprint(c.{field})\n",
    "of a parser of a name": "def make():\n    p = TrlParser((ScriptArguments, ModelConfig))\n    return p\n"
    "parser = make()\na, c = parser.parse_args_and_config()\nprint(c.{field})\n",
}
# What nobody can be sure of.
OPEN = {
    "a class of another": "def main(m):\n    return m.torch_dtype\n" + PARSED + "main(c)\nmain(b)\n",
    "something else": "import x\ndef main(m):\n    return m.torch_dtype\n" + PARSED + "main(c)\nmain(x.y)\n",
    "a list of arguments": "def main(m, n):\n    return m.torch_dtype\n" + PARSED + "main(*[c, b])\n",
    "a dict of arguments": "def main(m=None):\n    return m.torch_dtype\n" + PARSED + "main(**{'m': c})\n",
    "a parameter that is bound again": "def main(m):\n    m = other(m)\n    return m.torch_dtype\n"
    + PARSED
    + "main(c)\n",
    "a default": "def main(m=None):\n    return m.torch_dtype\n" + PARSED + "main()\n",
    "a decorator": "import x\n@x.y\ndef main(m):\n    return m.torch_dtype\n" + PARSED + "main(c)\n",
    "a name of two functions": "def main(m):\n    return m.torch_dtype\ndef main(m):\n    return 1\n"
    + PARSED
    + "main(c)\n",
    "a method": "class A:\n    def main(self, m):\n        return m.torch_dtype\n" + PARSED + "A().main(c)\n",
    "two returns": "def make(x):\n    if x:\n        return x\n    return ModelConfig()\nprint(make(1).torch_dtype)\n",
    "no return": "def make():\n    ModelConfig()\nprint(make().torch_dtype)\n",
    "a generator": "def make():\n    yield 1\n    return ModelConfig()\nprint(make().torch_dtype)\n",
    "itself": "def main(m):\n    main(m)\n    return m.torch_dtype\n",
    "each other": "def f(m):\n    g(m)\n    return m.torch_dtype\ndef g(m):\n    f(m)\n    return m.torch_dtype\n"
    "ModelConfig()\n",
    "a test of its class": "def main(m):\n    if isinstance(m, ModelConfig):\n        return m.torch_dtype\n"
    + PARSED
    + "main(c)\n",
    "hasattr": "def main(m):\n    return m.torch_dtype if hasattr(m, 'torch_dtype') else m.dtype\n"
    + PARSED
    + "main(c)\n",
    "a field that is set": "def main(m):\n    m.torch_dtype = 1\n    return m.torch_dtype\n" + PARSED + "main(c)\n",
    "a class of its own": "class ModelConfig(ModelConfig):\n    torch_dtype: str = ''\n"
    "def main(m):\n    return m.torch_dtype\nmain(ModelConfig())\n",
}


def codes(sh: Shell, text: str, pins: str = PINS) -> list[str]:
    for path in sh.folder.iterdir():
        path.unlink()
    sh.write("requirements.txt", pins)
    sh.write("train.py", HEAD + text)
    return [
        line.split()[1]
        for line in sh("--select", "TRL302", "--output-format", "concise").out.splitlines()
        if "TRL" in line
    ]


@pytest.mark.parametrize("rest", [("", ""), (", _", "return_remaining_strings=True")])
@pytest.mark.parametrize("how", HANDED)
def test_a_field_that_the_release_has_no_longer(sh: Shell, how: str, rest: tuple[str, str]) -> None:
    text = HANDED[how].replace("{rest}", rest[0]).replace("{how}", rest[1])
    assert codes(sh, text.replace("{field}", READ)) == ["TRL302"]
    assert codes(sh, text.replace("{field}", "dtype")) == []
    assert codes(sh, text.replace("{field}", READ), "trl==0.26.0\ntransformers==4.57.6\n") == []


@pytest.mark.parametrize("how", OPEN)
def test_what_is_not_certain_is_not_told(sh: Shell, how: str) -> None:
    assert codes(sh, OPEN[how].replace("{rest}", "").replace("{how}", "")) == []
