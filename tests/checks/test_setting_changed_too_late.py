"""TRL751: the words that wake it are the fields of its table."""

from trl_lint.checks.algorithm.setting_changed_too_late import rule
from trl_lint.knowledge.trainer_arguments import lifetimes


def test_every_field_of_the_table_wakes_the_rule():
    assert set(rule.needles) == {f".{name} =".encode() for row in lifetimes() for name in row.fields}
