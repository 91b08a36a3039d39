"""Logs of public threads: no wrong cause is called likely, and what was named right stays so."""

from __future__ import annotations

import re

import pytest

from benchmarks.field_logs import HONEST, KINDS, LIKELY, POSSIBLE, WRONG, Answer, FieldLog, answer, field_logs, table

LOGS = field_logs()


@pytest.mark.parametrize("log", [pytest.param(log, id=log.name) for log in LOGS])
def test_no_wrong_cause_is_called_likely_and_the_right_one_stays_first(log: FieldLog):
    kind = answer(log).kind
    assert kind != WRONG
    if log.is_first:
        assert kind in (LIKELY, POSSIBLE, HONEST)


def test_the_table_of_logs_is_well_formed():
    assert len({log.name for log in LOGS}) == len(LOGS) >= 84
    assert len({log.thread for log in LOGS}) == len(LOGS)
    assert all(re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+", log.thread) for log in LOGS)
    assert sum(log.outside for log in LOGS) * 3 >= len(LOGS)
    assert all(re.fullmatch(r"-|(?:LOG|TRL)\d{3}", code) for log in LOGS for code in log.right)
    assert all("/Users/" not in log.text.replace("/Users/user", "") for log in LOGS)


def test_answers_are_counted_by_what_came_first():
    log = FieldLog("a", "", False, "", ["LOG606"], "", False)
    silent = log._replace(right=[])
    kinds = [
        Answer(log, causes).kind
        for causes in (
            (("LOG606", "likely"),), (("LOG606", "possible"),), (("LOG601", "possible"), ("LOG606", "possible")),
            (("LOG1", "possible"), ("LOG2", "possible"), ("LOG606", "possible")),
        )
    ]  # fmt: skip
    kinds += [Answer(silent, ()).kind, Answer(log, (("LOG1", "possible"),)).kind, Answer(log, ()).kind]
    assert tuple(kinds) == KINDS[:-1]
    assert Answer(silent, (("LOG606", "likely"),)).kind == Answer(log, (("LOG1", "likely"),)).kind == WRONG
    assert "| 2 |" in table([Answer(log, ()), Answer(log, ())])
