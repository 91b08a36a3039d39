"""What a command of verl loses where it leaves a key to its default.

Read in 0.3.0.post0 to 0.9.1: `RLHFDataset.__getitem__` of verl/utils/dataset/rl_dataset.py stops at a prompt that is
too long (to 0.6.1; from 0.7.0 on it hands the messages on), and `fit` of trainer/ppo/ray_trainer.py saves, the last
step too, only where `save_freq` is above 0.
"""

from __future__ import annotations

from trl_lint.checks.configs._asserts import Assertion, Values
from trl_lint.checks.configs._verl_validation import Left

_FILTER, _SAVE = "data.filter_overlong_prompts", "trainer.save_freq"
_LENGTH = "data.max_prompt_length"


def prompts_too_long(v: Values) -> str | None:
    if v(_FILTER) is not False or v("data.truncation") != "error":
        return None
    if v.has("data.custom_cls.path") and v("data.custom_cls.path") is not None:
        return None  # a dataset of the project
    length = v.number(_LENGTH)
    return (
        f"the run stops at the first prompt of more than {length} tokens (`{_LENGTH}`): `{_FILTER}` is "
        "off by default, and `data.truncation` is error; set one of them"
    )


def nothing_saved(v: Values) -> str | None:
    # Whoever counts the steps, or only validates, tries something out.
    if v(_SAVE) != -1 or v("trainer.total_training_steps") is not None:
        return None
    if v.has("trainer.val_only") and v("trainer.val_only") is not False:
        return None
    return f"verl saves no checkpoint, not even the last: `{_SAVE}` is -1 by default; set it to a number of steps"


# A command that names no data, and no length or end, is an excerpt.
LEFT = (
    Left(_FILTER, ("data.train_files", _LENGTH), Assertion(">=0.3.0.post0,<0.7.0", prompts_too_long)),
    Left(_SAVE, ("data.train_files", "trainer.total_epochs"), Assertion(">=0.3.0.post0", nothing_saved)),
)
