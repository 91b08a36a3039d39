"""Python for other releases: dicts that calls unpack, and names that an import has to leave."""

from __future__ import annotations

from benchmarks.laws import Files, law, lines

PINS = "trl==1.16.0\ntransformers==5.23.0\nvllm==0.24.0\n"
HEAD = "from transformers import Trainer, TrainingArguments\n\n"


def drifted(body: str) -> Files:
    return {"train.py": HEAD + body, "requirements.txt": PINS}


@law(3200)
def keys_of_a_dict_that_a_call_unpacks(count: int) -> Files:
    made = lines(count, lambda i: f"    key_{i}={i},")
    later = lines(count, lambda i: f'given["evaluation_strategy"] = "steps"\ngiven["other_{i}"] = {i}')
    return drifted(f"given = dict(\n{made}    evaluation_strategy='no',\n)\n{later}TrainingArguments(**given)\n")


@law(1600)
def calls_that_unpack_one_dict(count: int) -> Files:
    calls = lines(count, lambda i: f"args_{i} = TrainingArguments(output_dir='{i}', **given)")
    return drifted(f"given = dict(evaluation_strategy='no', use_cpu=True)\n{calls}")


@law(1600)
def dicts_of_one_name_that_calls_unpack(count: int) -> Files:
    body = "    given = dict(evaluation_strategy='no')\n    return TrainingArguments(**given)\n\n"
    return drifted(lines(count, lambda i: f"def build_{i}():\n{body}"))


@law(1600)
def names_that_an_import_has_to_leave(count: int) -> Files:
    names = lines(count, lambda i: f"    get_ip as ip_{i},")
    return drifted(f"from vllm.utils import (\n{names})\n")
