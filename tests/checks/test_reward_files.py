"""Reward functions that commands and configs of frameworks name, and None where a reward is expected."""

# ruff: noqa: E501 (small files, each on one line)
from __future__ import annotations

from pathlib import Path

import pytest

from tests.laid_out import lay_out
from trl_lint.engine import check
from trl_lint.settings import Settings

OPENRLHF = "python -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen3-0.6B --remote_rm_url r.py\n"
VERL = "python -m verl.trainer.main_ppo data.train_files=a.parquet custom_reward_function.path=r.py"
SWIFT = "swift rlhf --rlhf_type grpo --model Qwen/Qwen3-0.6B --external_plugins r.py --reward_funcs "
AXOLOTL = """base_model: Qwen/Qwen3-0.6B
rl: grpo
trl:
  reward_funcs: [r.good]
datasets:
  - path: data.jsonl
    type: own.form
sequence_len: 1024
micro_batch_size: 4
val_set_size: 0
"""
CLASS = "from swift.plugin import ORM, orms\nclass A(ORM):\n    def __call__(self, completions, **kwargs):\n        return [1.0]\n"
GRPO = """from trl import GRPOTrainer, GRPOConfig
{}
GRPOTrainer("Qwen/Qwen3-0.6B", reward_funcs=good, args=GRPOConfig("o"), train_dataset=d)
"""


def told(folder: Path, pin: str, **files: str) -> list[str]:
    names = {name.replace("__", "."): text for name, text in files.items()}
    lay_out(folder, {"requirements.txt": f"{pin}\n", **names})
    result = check([str(folder)], Settings(str(folder)))
    return [finding.message for finding in result.findings if finding.code == "TRL702"]


BAD_FILES = {
    "a tensor": ("openrlhf==0.8.5", OPENRLHF, "import torch\ndef reward_func(q, p, l):\n    return torch.tensor([1.0])\n"),
    "a list by a name": ("openrlhf==0.8.3", OPENRLHF, "def reward_func(q, p, l):\n    out = [1.0 for _ in q]\n    return out\n"),
    "a dict without the key": ("openrlhf==0.9.0", OPENRLHF, "def reward_func(q, p, l):\n    return {'reward': 1}\n"),
    "two parameters": ("openrlhf==0.8.5", OPENRLHF, "def reward_func(queries, prompts):\n    return {'rewards': 1}\n"),
    "a parameter more": (
        "openrlhf==0.8.5", OPENRLHF, "def reward_func(queries, prompts, labels, scale):\n    return {'rewards': 1}\n"
    ),
    "no data_source": ("verl==0.5.0", VERL, "def compute_score(solution_str, ground_truth, extra_info):\n    return 1.0\n"),
    "a name more": (
        "verl==0.5.0",
        VERL,
        "def compute_score(data_source, solution_str, ground_truth, extra_info, scale):\n    return 1.0\n",
    ),
    "another name": (
        "verl==0.5.0",
        f"{VERL} custom_reward_function.name=score",
        "def score(data_source, solution, ground_truth, extra_info=None):\n    return 1.0\n",
    ),
    "None": (
        "verl==0.4.1",
        VERL,
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    if not solution_str:\n        return None\n    return 1.0\n",
    ),
    "a dict without score": (
        "verl==0.9.1",
        VERL,
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return {'acc': 1.0}\n",
    ),
    "a list for one answer": (
        "verl==0.6.1",
        VERL,
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return [1.0]\n",
    ),
    "by a helper": (
        "verl==0.6.1",
        VERL,
        "def last(t):\n    if '#' in t:\n        return 1.0\n"
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return last(solution_str)\n",
    ),
    "not registered": ("ms-swift==3.5.3", f"{SWIFT}a", CLASS),
    "under another name": ("ms-swift==4.2.0", f"{SWIFT}accuracy a", f"{CLASS}orms['b'] = A\n"),
    "no columns": ("ms-swift==3.8.2", f"{SWIFT}a", CLASS.replace(", **kwargs", "") + "orms['a'] = A\n"),
}  # fmt: skip
FINE_FILES = {
    "a dict": ("openrlhf==0.8.5", OPENRLHF, "def reward_func(q, p, l):\n    return {'rewards': 1, 'scores': 1}\n"),
    "a dict made in steps": ("openrlhf==0.8.5", OPENRLHF, "def reward_func(q, p, l):\n    d = {}\n    d['rewards'] = 1\n    return d\n"),
    "a tensor before": ("openrlhf==0.8.0", OPENRLHF, "import torch\ndef reward_func(q, p, l):\n    return torch.tensor([1.0])\n"),
    "what a helper makes": ("openrlhf==0.8.5", OPENRLHF, "def reward_func(q, p, l, scale=1):\n    return made(q)\n"),
    "a server": ("openrlhf==0.8.5", OPENRLHF.replace("r.py", "http://x/r"), "def reward_func(q):\n    return 1\n"),
    "all names": (
        "verl==0.5.0",
        VERL,
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return {'score': 1.0}\n",
    ),
    "more by options": (
        "verl==0.5.0",
        f"{VERL} +custom_reward_function.reward_kwargs.scale=2",
        "def compute_score(data_source, solution_str, ground_truth, extra_info, scale):\n    return 1.0\n",
    ),
    "keywords": ("verl==0.5.0", VERL, "def compute_score(solution_str, **kwargs):\n    return 1.0\n"),
    "a manager of batches": (
        "verl==0.5.0",
        f"{VERL} reward_model.reward_manager=batch",
        "def compute_score(data_sources, solution_strs, ground_truths, extra_infos):\n    return [1.0]\n",
    ),
    "a decorated one": ("verl==0.5.0", VERL, "@wrapped\ndef compute_score(answer):\n    return 1.0\n"),
    "own names of registry": ("ms-swift==3.5.3", f"{SWIFT}a accuracy", f"{CLASS}orms['a'] = A\n"),
    "registered by update": ("ms-swift==3.5.3", f"{SWIFT}a", f"{CLASS}orms.update({{'a': A}})\n"),
    "registered in a loop": ("ms-swift==3.5.3", f"{SWIFT}a", f"{CLASS}for n in ['a']:\n    orms[n] = A\n"),
    "a plugin that is not there": ("ms-swift==3.5.3", f"{SWIFT}a".replace("r.py", "q.py"), CLASS),
    "a variable": ("ms-swift==3.5.3", f"{SWIFT}$REWARDS", CLASS),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_function_that_does_not_fit_is_told(name: str, tmp_path: Path):
    pin, command, code = BAD_FILES[name]
    assert len(told(tmp_path, pin, run__sh=command, r__py=code)) == 1


@pytest.mark.parametrize("name", FINE_FILES)
def test_one_that_fits_is_fine(name: str, tmp_path: Path):
    pin, command, code = FINE_FILES[name]
    assert told(tmp_path, pin, run__sh=command, r__py=code) == []


@pytest.mark.parametrize(
    "takes", ["prompts, completions", "completions, **kwargs", "*args, **kwargs", "completions, answer=None"]
)
def test_two_parameters_are_enough(takes: str, tmp_path: Path):
    assert told(tmp_path, "axolotl==0.10.0", run__yaml=AXOLOTL, r__py=f"def good({takes}):\n    return [1.0]\n") == []


@pytest.mark.parametrize("takes", ["completions", "**kwargs", ""])
def test_one_parameter_is_refused(takes: str, tmp_path: Path):
    code = f"def good({takes}):\n    return [1.0]\n"
    assert len(told(tmp_path, "axolotl==0.10.0", run__yaml=AXOLOTL, r__py=code)) == 1


HELPER = "def last(t):\n    if '#' not in t:\n        return None\n    return t.split('#')[-1]\n"
NONE = {
    "in a list": "def good(completions, **kw):\n    return [last(c) for c in completions]",
    "appended": "def good(completions, **kw):\n    out = []\n    for c in completions:\n        out.append(last(c))\n    return out",
    "by a name": "def good(completions, **kw):\n    out = [last(c) for c in completions]\n    return out",
}
USED = {
    "a method": "def good(completions, **kw):\n    return [float(last(c).strip() == '4') for c in completions]",
    "a number": "def good(completions, **kw):\n    return [float(last(c)) for c in completions]",
    "in a test of itself": (
        "def good(completions, **kw):\n    out = []\n    for c in completions:\n        x = last(c)\n"
        "        out.append(1.0 if x.strip() else 0.0)\n    return out"
    ),
    "of messages": (
        "def good(completions, **kw):\n    texts = [c[0]['content'] for c in completions]\n"
        "    return [float(int(last(t)) > 3) for t in texts]"
    ),
    "a match": "import re\ndef good(completions, **kw):\n    return [float(re.search('4', c).group(0)) for c in completions]",
}
ASKED = {
    "a test": (
        "def good(completions, **kw):\n    out = []\n    for c in completions:\n        x = last(c)\n"
        "        if x is None:\n            out.append(0.0)\n            continue\n        out.append(float(x))\n    return out"
    ),
    "a choice": "def good(completions, **kw):\n    return [float(last(c)) if '#' in c else 0.0 for c in completions]",
    "a condition": "def good(completions, **kw):\n    return [1.0 if (x := last(c)) and x.strip() else 0.0 for c in completions]",
    "a try": (
        "def good(completions, **kw):\n    out = []\n    for c in completions:\n        try:\n"
        "            out.append(float(last(c)))\n        except TypeError:\n            out.append(0.0)\n    return out"
    ),
    "the answer of the dataset": "def good(completions, answer, **kw):\n    return [float(last(a)) for a in answer]",
    "a default": "def good(completions, **kw):\n    return [float(last(c) or 0) for c in completions]",
    "compared": "def good(completions, answer, **kw):\n    return [float(last(c) == a) for c, a in zip(completions, answer)]",
}


@pytest.mark.parametrize("name", NONE)
def test_a_helper_that_gives_none_as_a_reward(name: str, tmp_path: Path):
    script = GRPO.format(HELPER + NONE[name])
    assert len(told(tmp_path / "old", "trl==0.15.2", train__py=script)) == 1
    assert told(tmp_path / "new", "trl==0.16.0", train__py=script) == []  # None stands for no reward there


@pytest.mark.parametrize("name", USED)
def test_what_may_be_none_is_used(name: str, tmp_path: Path):
    assert len(told(tmp_path, "trl==0.24.0", train__py=GRPO.format(HELPER + USED[name]))) == 1


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_for_first_is_fine(name: str, tmp_path: Path):
    assert told(tmp_path, "trl==0.24.0", train__py=GRPO.format(HELPER + ASKED[name])) == []


SHOWN = 'P = """Answer so:\n<think>\n...\n</think>\n<answer>\n...\n</answer>\n"""\n'
FORMS = {
    "re.match(r'<think>.*?</think>', c)": 1,
    "re.search(r'^<think>(.*?)</think>\\s*<answer>.+?</answer>', c)": 1,
    "re.match(r'<think>.*?</think>', c, re.DOTALL)": 0,
    "re.match(r'<think>.*?</think>', c, flags=re.S)": 0,
    "re.match(r'(?s)<think>.*?</think>', c)": 0,
    "re.match(r'<think>[\\s\\S]*?</think>', c)": 0,
    "re.match(r'^<think>\\n.*?\\n</think>', c)": 0,
    "re.match(r'<think>.*?</think>', c.replace(chr(10), ''))": 0,
    "re.match(r'<other>.*?</other>', c)": 0,
}


@pytest.mark.parametrize("search", FORMS)
def test_the_form_that_a_prompt_shows(search: str, tmp_path: Path):
    function = (
        f"import re\n{SHOWN}def good(completions, **kw):\n    return [1.0 if {search} else 0.0 for c in completions]"
    )
    assert len(told(tmp_path / "one", "trl==0.24.0", train__py=GRPO.format(function))) == FORMS[search]
    flat = function.replace("<think>\n...\n</think>", "<think> ... </think>").replace("<answer>\n...\n", "<answer> ")
    assert told(tmp_path / "flat", "trl==0.24.0", train__py=GRPO.format(flat)) == []
