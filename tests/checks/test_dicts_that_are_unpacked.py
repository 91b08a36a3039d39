"""A key that is certainly put into a dict before a call unpacks it is a keyword; one that may be is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laid_out import lay_out
from trl_lint.engine import check
from trl_lint.settings import Settings

HEAD = "from trl import GRPOConfig\n"

GIVEN = {
    "beside the call": "d = dict(output_dir='o')\nd['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "written with braces": "d = {}\nd['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "in a function": "def f():\n    d = {}\n    d['max_seq_length'] = 5\n    return GRPOConfig(**d)\n",
    "with the call under a test": "d = {}\nd['max_seq_length'] = 5\nif x:\n    GRPOConfig(**d)\n",
    "all under one test": "if x:\n    d = {}\n    d['max_seq_length'] = 5\n    GRPOConfig(**d)\n",
    "in a loop": "for x in y:\n    d = {}\n    d['max_seq_length'] = 5\n    GRPOConfig(**d)\n",
    "among many": "d = {}\n"
    + "".join(f"d['learning_rate'] = {i}\n" for i in range(400))
    + "d['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "with the call in a function": "d = {}\nd['max_seq_length'] = 5\ndef f():\n    return GRPOConfig(**d)\n",
    "put in twice": "d = {}\nd['max_seq_length'] = 5\nd['max_seq_length'] = 6\nGRPOConfig(**d)\n",
}
OPEN = {
    "under a test": "d = {}\nif x:\n    d['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "behind the call": "d = {}\nGRPOConfig(**d)\nd['max_seq_length'] = 5\n",
    "in the other branch": "if x:\n    d = {}\nelse:\n    d['max_seq_length'] = 5\n",
    "in another function": "d = {}\ndef f():\n    d['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "in a function that may run before": "d = {}\ndef f():\n    return GRPOConfig(**d)\nd['max_seq_length'] = 5\n",
    "read and not put in": "d = dict(output_dir='o')\nd['max_seq_length']\nGRPOConfig(**d)\n",
    "deleted": "d = {}\nd['max_seq_length'] = 5\ndel d['max_seq_length']\nGRPOConfig(**d)\n",
    "popped": "d = {}\nd['max_seq_length'] = 5\nd.pop('max_seq_length')\nGRPOConfig(**d)\n",
    "handed on": "d = {}\nd['max_seq_length'] = 5\nclean(d)\nGRPOConfig(**d)\n",
    "bound again": "d = {}\nd['max_seq_length'] = 5\nd = {}\nGRPOConfig(**d)\n",
    "for another class too": "d = {}\nd['max_seq_length'] = 5\nOther(**d)\nGRPOConfig(**d)\n",
    "a key that is added to": "d = {}\nd['max_seq_length'] += 5\nGRPOConfig(**d)\n",
    "a key that is known": "d = {}\nd['learning_rate'] = 5\nGRPOConfig(**d)\n",
    "a key that is no word": "d = {}\nd[k] = 5\nGRPOConfig(**d)\n",
    "in a loop that may have no round": "d = {}\nfor x in y:\n    d['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "in a try": "d = {}\ntry:\n    d['max_seq_length'] = 5\nexcept E:\n    pass\nGRPOConfig(**d)\n",
}


def codes(text: str, folder: Path) -> list[str]:
    lay_out(folder, {"requirements.txt": "trl==0.20.0\n", "train.py": HEAD + text})
    found = check([str(folder)], Settings(str(folder))).findings
    return [finding.code for finding in found if finding.code == "TRL301"]


@pytest.mark.parametrize("how", GIVEN)
def test_what_is_certainly_in_the_dict_is_judged(how: str, tmp_path: Path):
    assert codes(GIVEN[how], tmp_path) == ["TRL301"]


@pytest.mark.parametrize("how", OPEN)
def test_what_may_not_be_in_it_is_not(how: str, tmp_path: Path):
    assert codes(OPEN[how], tmp_path) == []
