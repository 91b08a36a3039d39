# ruff: noqa: E501  a kind is one line
"""Inputs that mean harm where a project is looked at as a whole: what pip takes of its pins, what reaches a module, who
loads a config, releases that pages tell, newer Python, known bugs, and the flags that a command is put together from.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.hostile_kinds import CALL, CANARY, IMPORT, PINS, RECIPE, Files, kind, several

# Packages whose releases and requirements are recorded, with what a pin of them looks like.
_PACKAGES = (
    *("transformers", "accelerate", "peft", "vllm", "torch", "deepspeed", "datasets", "numpy", "tokenizers", "liger-kernel"),
    *("huggingface-hub", "safetensors", "bitsandbytes", "xformers", "flash-attn", "ray", "pydantic", "fsspec", "pyarrow"),
    *("sglang", "verl", "axolotl", "ms-swift", "openrlhf", "unsloth", "unsloth-zoo", "llamafactory", "triton", "torchvision"),
)  # fmt: skip


# -- what pip takes -----------------------------------------------------------------------------------------------------


@kind(25, "d0/train.py")
def environments_that_differ(n: int) -> Files:
    """Each folder asks something else of every package that is recorded, and nothing is pinned to one release."""

    def asked(i: int) -> str:
        return "trl==0.20.0\n" + "".join(f"{name}!=0.{i}.{j},>=0.0.{i}\n" for j, name in enumerate(_PACKAGES))

    return {f"d{i}/requirements.txt": asked(i) for i in range(n)} | {
        f"d{i}/train.py": f"{IMPORT}{CALL}\n" for i in range(n)
    }


@kind(40, "d0/train.py")
def environments_that_contradict_themselves(n: int) -> Files:
    """No releases do: the search goes back over all that it has taken."""

    def asked(i: int) -> str:
        return (
            f"trl==0.20.0\ntransformers>=4.5{i % 8},<4.5{i % 8 + 2}\nvllm<0.5.{i % 5}\ntorch>=2.7\ndatasets>=4.{i % 4}\n"
            f"huggingface-hub<0.2{i % 9}\ntokenizers>=0.2{i % 2}\nnumpy<1.2{i % 7}\naccelerate>=1.{i % 9}\npeft<0.{i % 9 + 2}\n"
        )

    return {f"d{i}/requirements.txt": asked(i) for i in range(n)} | {
        f"d{i}/train.py": f"{IMPORT}{CALL}\n" for i in range(n)
    }


@kind(2500)
def markers_that_exclude_each_other(n: int) -> Files:
    return {
        "requirements.txt": PINS
        + "".join(
            f"transformers==4.{i % 57}.{i % 3}; python_version {'<' if i % 2 else '>='} '3.{i % 20}' and sys_platform {'!' if i % 3 else '='}= 'linux'\n"
            for i in range(n)
        )
    }


@kind(400)
def brackets_of_a_marker(n: int) -> Files:
    return {
        "requirements.txt": f"{PINS}transformers>=4.40; {'(' * n}python_version >= '3.8'{')' * n}\n"
        + f"peft>=0.1; {' or '.join(f'python_version == {chr(39)}3.{i}{chr(39)}' for i in range(n * 10))}\n"
    }


@kind(2500, "setup.sh")
def commands_that_install_one_after_the_other(n: int) -> Files:
    steps = "".join(f"pip install {'-U ' * (i % 2)}'{_PACKAGES[i % 10]}>=0.{i % 60}'\n" for i in range(n))
    return {"requirements.txt": "", "setup.sh": f"pip install trl==0.20.0\n{steps}{CANARY}\n"}


@kind(600, "setup.sh")
def branches_that_install(n: int) -> Files:
    steps = "".join(
        f"if [ $x = {i} ]; then pip install transformers==4.{i % 57}.0; else pip install vllm==0.{i % 9}.0; fi\n"
        for i in range(n)
    )
    return {"requirements.txt": "", "setup.sh": f"pip install trl==0.20.0\n{steps}{CANARY}\n"}  # fmt: skip


@kind(300)
def projects_that_install_each_other(n: int) -> Files:
    def project(i: int) -> str:
        others = "".join(f'"p{j} @ file:../p{j}", ' for j in ((i + 1) % n, (i * 7 + 3) % n))
        return f'[project]\nname = "p{i}"\nversion = "1"\ndependencies = [{others}"transformers>=4.{i % 57}"]\n[tool.uv.sources]\np{(i + 1) % n} = {{path = "../p{(i + 1) % n}"}}\n'

    return {"requirements.txt": f"{PINS}-e ./p0\n", **{f"p{i}/pyproject.toml": project(i) for i in range(n)}}


@kind(2000)
def overrides_of_uv(n: int) -> Files:
    rows = ", ".join(f'"transformers>=4.{i % 57}.{i // 57}"' for i in range(n))
    return {
        "requirements.txt": "",
        "pyproject.toml": f"[project]\nname = 'x'\nversion = '1'\ndependencies = ['trl==0.20.0']\n[tool.uv]\noverride-dependencies = [{rows}]\nconstraint-dependencies = [{rows}]\n",
    }


# -- releases that are told ---------------------------------------------------------------------------------------------

_NO_PINS = {"requirements.txt": "trl\n"}
_TOLD: dict[str, tuple[int, Callable[[int], str]]] = {
    "version lists": (5000, lambda n: "# Requirements\n\n- trl==0.20.0\n" + "".join(f"- {_PACKAGES[i % 29]} {i % 5}.{i % 60}.{i % 7}\n" for i in range(n))),
    "versions of one package": (6000, lambda n: "# Environment\n\ntrl 0.20.0\n" + "".join(f"transformers 4.{i % 58}.{i % 4} and vllm=={i}.0\n" for i in range(n))),
    "rows of a version table": (4000, lambda n: "# Versions\n\n| package | version |\n|---|---|\n| trl | 0.20.0 |\n" + "".join(f"| {_PACKAGES[i % 29]} | 4.{i}.{i % 9} |\n" for i in range(n))),
    "columns of a version table": (900, lambda n: f"| package {'| version ' * n}|\n|---{'|---' * n}|\n" + f"| trl {'| 0.20.0 ' * n}|\n" * 20),
    "names of a sentence": (3000, lambda n: "# Setup\n\n" + " ".join(f"{_PACKAGES[i % 29]} version {i % 9}.{i % 60}.0," for i in range(n)) + " trl 0.20.0\n"),
    "letters that may be a name": (1000, lambda n: f"# Setup\n\ntrl 0.20.0\n{('a-' * 20 + 'a ' * 400 + chr(10)) * (n // 10)}"),
    "headings about versions": (4000, lambda n: "".join(f"{'#' * (i % 6 + 1)} Install {i}\ntrl 0.20.0\n" for i in range(n))),
}  # fmt: skip
for _name, (_size, _page) in _TOLD.items():

    def _told(n: int, page: Callable[[int], str] = _page) -> Files:
        return {**_NO_PINS, "README.md": page(n)}

    _told.__name__ = f"{_name} in a page"
    kind(_size)(_told)


@kind(5000)
def lines_of_a_frozen_list(n: int) -> Files:
    rows = "".join(f"{_PACKAGES[i % 29]}=={i % 5}.{i % 60}.{i % 7}\n" for i in range(n))
    return {**_NO_PINS, "pip_freeze.txt": f"trl==0.20.0\n{rows}", "environment.txt": f"trl 0.20.0\n{rows.replace('==', '  ')}"}  # fmt: skip


@kind(3000)
def stages_of_an_image_for_the_code_around(n: int) -> Files:
    stages = "".join(f"FROM s{i} AS s{i + 1}\nRUN pip install transformers==4.{i % 57}.0\n" for i in range(n))
    return {"requirements.txt": "", "docker/Dockerfile": f"FROM x AS s0\nRUN pip install trl==0.20.0\n{stages}"}


# -- records of past runs -----------------------------------------------------------------------------------------------


@kind(500)
def records_of_past_runs(n: int) -> Files:
    records = {f"wandb/run-20250101_{i:06}-abc{i}/files/requirements.txt": f"trl==0.{i % 20}.0\n" for i in range(n)}
    beside = {f"wandb/run-2025_{i}/config.yaml": RECIPE for i in range(n)}
    return {**records, **beside, **{f"out/checkpoint-{i}/train.py": f"{IMPORT}{CALL}\n" for i in range(n)}}


# -- what reaches a module ----------------------------------------------------------------------------------------------

_DEFINES = f"{IMPORT}\ndef make():\n    return {CALL}\n"


@kind(800, "m0.py")
def modules_that_nothing_imports(n: int) -> Files:
    return {**{f"m{i}.py": _DEFINES for i in range(n)}, "README.md": "x\n", "run.py": "import m0\nm0.make()\n"}


@kind(800, "m10.py")
def modules_in_a_chain(n: int) -> Files:
    return {
        **{f"m{i}.py": f"import m{i + 1}\n{_DEFINES}" for i in range(n)},
        "README.md": "x\n",
        "run.py": "import m0\nm0.make()\n",
    }


@kind(400, "m0.py")
def modules_that_all_name_each_other(n: int) -> Files:
    words = " ".join(f"m{i}" for i in range(n))
    return {**{f"m{i}.py": f"names = '{words[:290]}'\n{_DEFINES}" for i in range(n)}, "README.md": "x\n", "run.sh": f"python m0.py {words}\n"}  # fmt: skip


@kind(300, f"{'a/' * 3}m.py")
def modules_of_one_name(n: int) -> Files:
    return {**{f"{'a/' * (i % 60)}b{i}/m.py": _DEFINES for i in range(n)}, "a/a/a/m.py": _DEFINES, "README.md": "x\n", "run.py": "import m\nm.make()\n"}  # fmt: skip


several(
    {
        "texts in three quotes": (30_000, lambda n: f"{IMPORT}{CALL}\n" + '""" \'\'\' ' * n + "\n"),
        "names of modules that show late": (4000, lambda n: f"{IMPORT}{CALL}\n" + "".join(f"import_module( 'a{i}'\n)\n" for i in range(n))),
        "brackets behind import_module": (6000, lambda n: f"{IMPORT}{CALL}\n# " + "import_module(" * n + "\n"),
        "stars in a text": (6000, lambda n: f"{IMPORT}{CALL}\nx = '''\n" + "from a.b import *\nfrom \n" * n + "'''\n"),
    },
    "train.py",
)  # fmt: skip


# -- what helpers bring -------------------------------------------------------------------------------------------------


@kind(150)
def helpers_of_helpers(n: int) -> Files:
    """TRL301 and others ask whether a helper imports Unsloth."""
    helpers = {
        f"h{i}.py": "".join(f"from h{(i * 7 + j) % n} import f{j}\n" for j in range(6))
        + "def f0():\n    '''unsloth'''\n"
        for i in range(n)
    }
    return {**helpers, "train.py": f"from h0 import *\nfrom h1 import f0, f1\n{IMPORT}{CALL}\n"}


@kind(1500, "other.py")
def functions_that_call_what_imports(n: int) -> Files:
    chain = "".join(f"def f{i}():\n    return f{i + 1}()\n" for i in range(n))
    return {
        "helper.py": f"{chain}def f{n}():\n    import unsloth\n",
        "train.py": f"from helper import f0\n{IMPORT}{CALL}\n",
        "other.py": f"{IMPORT}{CALL}\n",
    }


# -- who loads a config ---------------------------------------------------------------------------------------------------


@kind(400, "sft.yaml")
def scripts_that_load_one_config(n: int) -> Files:
    script = "import yaml\nfrom omegaconf import OmegaConf\nfrom trl import SFTConfig, TrlParser\nc = TrlParser(SFTConfig).parse_args_and_config()\nd = yaml.safe_load(open('sft.yaml'))\n"
    commands = "".join(f"python s{i}.py --config sft.yaml\n" for i in range(n))
    return {
        **{f"s{i}.py": script for i in range(n)},
        "run.sh": commands + "trl sft --config sft.yaml\n",
        "sft.yaml": f"{RECIPE}max_seq_length: 5\n",
    }


several(
    {
        "numbers of YAML 1.1": (6000, lambda n: f"{RECIPE}max_seq_length: 5\n" + "".join(f"x{i}: {('1e-6', '1_000', '0o17', '010', '1:30', '.inf', 'off')[i % 7]}\n" for i in range(n))),
        "targets of Hydra": (2500, lambda n: f"{RECIPE}max_seq_length: 5\n" + "".join(f"t{i}:\n  _target_: a.b{i}\n  x: ${{oc.env:A{i},${{t{i - 1}.x}}}}\n" for i in range(n))),
        "groups of Hydra": (3000, lambda n: f"{RECIPE}max_seq_length: 5\ndefaults:\n" + "".join(f"  - g{i}: ${{g{i - 1}}}\n  - override /a{i}: b\n" for i in range(n))),
    },
    "sft.yaml",
)  # fmt: skip


# -- newer Python ---------------------------------------------------------------------------------------------------------

_LAST = "type X = int\ntry:\n    pass\nexcept A, B:\n    pass\n"
several(
    {
        "type parameters": (2500, lambda n: f"{IMPORT}{CALL}\n{_LAST}" + "".join(f"def f{i}[T{i}: (int, str)](x: T{i}) -> T{i}: ...\n" for i in range(n))),
        "parameters of one function": (200, lambda n: f"{IMPORT}{CALL}\n{_LAST}def f[{', '.join(f'T{i}' for i in range(n))}](): ...\n"),
        "errors that are caught": (2500, lambda n: f"{IMPORT}{CALL}\n{_LAST}" + "".join(f"try:\n    a{i}()\nexcept A{i}, B{i}:\n    pass\n" for i in range(n))),
        "errors of one handler": (500, lambda n: f"{IMPORT}{CALL}\n{_LAST}try:\n    pass\nexcept {', '.join(f'A{i}' for i in range(n))}:\n    pass\n"),
        "f-strings with their own quotes": (4000, lambda n: f"{IMPORT}{CALL}\n{_LAST}" + "".join(f'x{i} = f"{{d["a{i}"]}}"\n' for i in range(n))),
        "f-strings in f-strings": (40, lambda n: f"{IMPORT}{CALL}\n{_LAST}x = " + 'f"{' * n + "1" + '}"' * n + "\n"),
        "templates": (4000, lambda n: f"{IMPORT}{CALL}\n{_LAST}" + "".join(f"x{i} = t'{{a{i}}}'\n" for i in range(n))),
        "words that look newer": (9000, lambda n: f"{IMPORT}{CALL}\n{_LAST}" + "except x, type y[ " * n + "\n"),
        "handlers in handlers": (90, lambda n: f"{IMPORT}{CALL}\n{_LAST}" + "".join(f"{' ' * i}try:\n{' ' * i} a\n{' ' * i}except A, B:\n" for i in range(n)) + " " * n + "pass\n"),
    },
    "train.py",
)  # fmt: skip


# -- known bugs -----------------------------------------------------------------------------------------------------------

_BUGGY = (
    "GRPOConfig(output_dir='o', use_vllm=True, vllm_mode='colocate', vllm_enable_sleep_mode=True, max_seq_length={0})"
)


@kind(1500)
def calls_that_meet_known_bugs(n: int) -> Files:
    body = "".join(
        f"GRPOTrainer(model='x', reward_funcs=len, args={_BUGGY.format(i)}, train_dataset=d)\n" for i in range(n)
    )
    return {"requirements.txt": "trl==1.2.0\n", "train.py": f"from trl import GRPOConfig, GRPOTrainer\n{body}"}  # fmt: skip


@kind(300, "run.sh")
def commands_that_meet_known_bugs(n: int) -> Files:
    words = (
        "actor_rollout_ref.rollout.name=vllm algorithm.use_kl_in_reward=True actor_rollout_ref.actor.use_kl_loss=True"
    )
    lines = "".join(f"python -m verl.trainer.main_ppo {words} trainer.total_epochs={i}\n" for i in range(n))
    return {"requirements.txt": f"{PINS}verl==0.5.0\nvllm==0.8.5\n", "run.sh": f"{CANARY}\n{lines}"}


@kind(1500)
def conditions_about_one_trainer(n: int) -> Files:
    tests = "".join(f"if a{i}:\n    c.use_vllm = {bool(i % 2)}\nelse:\n    c.vllm_mode = 'm{i}'\n" for i in range(n))
    return {"train.py": f"from trl import GRPOConfig, GRPOTrainer\n{CALL}\nc = GRPOConfig(output_dir='o')\n{tests}GRPOTrainer(model='x', reward_funcs=len, args=c, train_dataset=d)\n"}  # fmt: skip


# -- flags that a command is put together from ------------------------------------------------------------------------------

several(
    {
        "variables with flags": (2500, lambda n: "A0='--max_seq_length 5'\n" + "".join(f"A{i + 1}=\"$A{i} --a{i} {i}\"\n" for i in range(n)) + f"{CANARY}\ntrl sft --output_dir o $A{n}\n"),
        "variables that double": (18, lambda n: "A0='--a 1'\n" + "".join(f'A{i + 1}="$A{i} $A{i}"\n' for i in range(n)) + f"{CANARY} $A{n}\n"),
        "variables of tests": (1500, lambda n: "".join(f"[ $x = {i} ] && EXTRA=\"$EXTRA --a{i} {i}\"\n" for i in range(n)) + f"{CANARY} $EXTRA\n"),
        "flags of arrays": (1500, lambda n: "ARGS=(--seed 1)\n" + "".join(f"if [ $x = {i} ]; then ARGS+=(--a{i} {i}); fi\n" for i in range(n)) + f'{CANARY} "${{ARGS[@]}}"\n'),
        "commands with one variable of flags": (300, lambda n: "EXTRA='" + " ".join(f"--a{i} {i}" for i in range(500)) + "'\n" + f"{CANARY} $EXTRA\n" * n),
        "commands in a variable": (1500, lambda n: f"CMD='{CANARY}'\n" + "".join(f"CMD=\"$CMD --a{i} {i}\"\n" for i in range(n)) + "eval $CMD\n$CMD\n"),
    },
    "run.sh",
)  # fmt: skip


@kind(300, "run.sh")
def parsers_that_other_files_make(n: int) -> Files:
    def made(i: int) -> str:
        return f"from p{i + 1} import parser_of as inner\ndef parser_of():\n    p = inner()\n    p.add_argument('--a{i}', type=int)\n    return p\n"

    files = {f"p{i}.py": made(i) for i in range(n)} | {
        f"p{n}.py": "import argparse\ndef parser_of():\n    return argparse.ArgumentParser()\n"
    }
    return {
        **files,
        "main.py": "from p0 import parser_of\nargs = parser_of().parse_args()\n",
        "run.sh": f"{CANARY}\npython main.py --b 1 --a0 x\n",
    }
