"""Python: statements, functions, calls, branches, names, and what stands between them."""

from __future__ import annotations

import json

from benchmarks.laws import Files, law, lines

PINS = "trl==0.15.2\ntransformers==4.49.0\ntorch==2.5.1\naccelerate==1.3.0\n"
HEAD = """\
import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM
from trl import GRPOConfig, GRPOTrainer

accelerator = Accelerator()
"""


def script(body: str) -> Files:
    return {"train.py": HEAD + body, "requirements.txt": PINS}


def in_function(body: str) -> Files:
    return script("\n\ndef step(model, batch, mask: torch.Tensor):\n    x = torch.zeros(3)\n" + body)


@law(6400)
def statements(count: int) -> Files:
    return script(lines(count, lambda i: f"value_{i} = accelerator.process_index + {i}"))


@law(1600)
def statements_about_tensors(count: int) -> Files:
    return in_function(lines(count, lambda i: f"    x{i} = torch.arange({i + 2}).to(mask.device) + mask"))


@law(1600)
def findings(count: int) -> Files:
    return in_function(lines(count, lambda i: f"    x{i} = torch.arange({i + 2}) + mask.cuda()"))


@law(800)
def functions(count: int) -> Files:
    return script(lines(count, lambda i: f"def f{i}(x):\n    return torch.arange(x.size(1)) + x.cuda()\n"))


@law(800)
def chain_of_calls(count: int) -> Files:
    return script(lines(count, lambda i: f"def f{i}(x):\n    y = f{i + 1}(x.cuda())\n    return y + torch.zeros(3)\n"))


@law(800)
def calls_that_double(count: int) -> Files:
    text = lines(count, lambda i: f"def f{i}(x):\n    return f{i + 1}(x) + f{i + 1}(torch.zeros(3))\n")
    return script(text + f"def f{count}(x):\n    return x\n\n\nf0(torch.ones(2).cuda())\n")


@law(800)
def methods(count: int) -> Files:
    body = lines(count, lambda i: f"    def m{i}(self, x):\n        return self.m{i + 1}(x) + torch.arange(4)\n")
    return script(f"\n\nclass Mine(GRPOTrainer):\n{body}")


@law(800)
def attributes(count: int) -> Files:
    made = lines(count, lambda i: f"        self.a{i} = torch.zeros({i + 1})")
    used = lines(count, lambda i: f"        x = x + self.a{i}")
    text = f"\n\nclass M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n{made}\n"
    return script(f"{text}    def forward(self, x: torch.Tensor):\n{used}        return x\n")


@law(800)
def classes_that_inherit(count: int) -> Files:
    return script(lines(count, lambda i: f"class C{i + 1}({f'C{i}' if i else 'GRPOTrainer'}):\n    x{i} = {i}\n"))


@law(800)
def guards(count: int) -> Files:
    return in_function(
        lines(count, lambda i: f"    if accelerator.is_main_process and {i}:\n        accelerator.wait_for_everyone()")
    )


@law(800)
def branches_that_double(count: int) -> Files:
    text = lines(count, lambda i: f"    if batch[{i}]:\n        x = x.cuda()\n    else:\n        x = x.cpu()")
    return in_function(f"{text}    return x + mask\n")


@law(400)
def elifs(count: int) -> Files:
    text = lines(count, lambda i: f"    elif batch == {i}:\n        x = torch.zeros({i + 1})")
    return in_function(f"    if batch is None:\n        pass\n{text}    return x + mask\n")


@law(80)
def nested_branches(count: int) -> Files:
    deep = "".join(f"{'    ' * (i % 80 + 1)}if batch[{i}]:\n" for i in range(count))
    return in_function(f"{deep}{'    ' * (count + 1)}x = x.cuda()\n    return x + mask\n")


@law(16)
def nested_loops(count: int) -> Files:
    deep = "".join(f"{'    ' * (i + 1)}for a{i} in batch:\n" for i in range(count))
    return in_function(f"{deep}{'    ' * (count + 1)}x = x + mask.cuda()\n    return x\n")


@law(3200)
def loops(count: int) -> Files:
    return in_function(lines(count, lambda i: f"    for a{i} in batch:\n        x = x + a{i}.cuda()"))


@law(800)
def attempts(count: int) -> Files:
    return in_function(lines(count, lambda i: f"    try:\n        x = x.cuda()\n    except E{i}:\n        x = mask"))


@law(800)
def version_guards(count: int) -> Files:
    return script(
        "import trl\nfrom packaging import version\n"
        + lines(
            count,
            lambda i: (
                f'if version.parse(trl.__version__) >= version.parse("0.{i % 20}.0"):\n'
                f"    a{i} = GRPOConfig(vllm_device='cuda:0', gone_{i}=1)"
            ),
        )
    )


@law(800)
def trainers(count: int) -> Files:
    return script(lines(count, lambda i: f"GRPOTrainer('m', args=GRPOConfig(output_dir='o{i}', max_grad_norm=0))"))


@law(400)
def unknown_arguments(count: int) -> Files:
    return script(f"config = GRPOConfig({', '.join(f'no_such_{i}=1' for i in range(count))})\n")


@law(3200)
def prompts_from_a_template(count: int) -> Files:
    head = "from transformers import AutoTokenizer\n\n\n"
    text = lines(
        count,
        lambda i: (
            f'def encode_{i}(chat):\n    tokenizer = AutoTokenizer.from_pretrained("m{i}")\n'
            "    ids = tokenizer.apply_chat_template(chat)\n    return len(ids)\n"
        ),
    )
    return script(head + text)


@law(800)
def imported_names(count: int) -> Files:
    return script(lines(count, lambda i: f"from trl import GRPOConfig as C{i}, no_such_{i}"))


@law(1600)
def words_of_imports(count: int) -> Files:
    return {"a.py": 's = "from ' + "w" * (count * 20) + '! import torch trl "\n', "requirements.txt": PINS}


@law(1600)
def imports_on_a_line(count: int) -> Files:
    return {"a.py": f"x = '{'; import torch trl ' * count}'\n", "requirements.txt": PINS}


@law(3200)
def keys_of_a_dict(count: int) -> Files:
    keys = lines(count, lambda i: f'    "key_{i}": {i},')
    return script(f"config = {{\n{keys}}}\n")


@law(640)
def long_expressions(count: int) -> Files:
    return in_function(f"    y = mask{' + x' * count}\n    return y\n")


@law(160)
def chained_methods(count: int) -> Files:
    return in_function(f"    return mask{'.to(x.device)' * count} + x\n")


@law(1600)
def noqa_comments(count: int) -> Files:
    return in_function(lines(count, lambda i: f"    x{i} = torch.arange({i + 2}) + mask.cuda()  # noqa: TRL103"))


@law(1600)
def blanks_before_until(count: int) -> Files:
    return script(lines(16, lambda i: f"x{i} = 1  # noqa: TRL103 until{' ' * (count * 4)}x"))


@law(6400)
def blank_lines(count: int) -> Files:
    return script(lines(count, lambda i: " \t  " * 4) + "x = torch.zeros(3)\n")


@law(6400)
def comments(count: int) -> Files:
    return script(lines(count, lambda i: f"# the {i}th remark about torch.zeros( and noqa"))


@law(1600)
def formatted_strings(count: int) -> Files:
    return script(lines(count, lambda i: f'print(f"{{accelerator.process_index}} of {i} {{x.y[{i}]!r:>10}}")'))


@law(1600)
def fields(count: int) -> Files:
    body = lines(count, lambda i: f"    field_{i}: int = {i}")
    text = f"from dataclasses import dataclass\nfrom trl import TrlParser\n\n\n@dataclass\nclass Mine:\n{body}\n\n"
    return {
        **script(f"{text}parser = TrlParser((Mine, GRPOConfig))\nargs = parser.parse_args_and_config()\n"),
        "run.sh": f"python train.py {' '.join(f'--field_{i} 1' for i in range(count))}\n",
    }


@law(160)
def modules_that_import_each_other(count: int) -> Files:
    found = {
        f"m{i}.py": f"import torch\nfrom m{i + 1} import f{i + 1}\n\n\ndef f{i}(x):\n    return f{i + 1}(x.cuda())\n"
        for i in range(count)
    }
    return {**found, **script("from m0 import f0\n\nf0(torch.zeros(3)) + torch.ones(3)\n")}


@law(800)
def cells_of_a_notebook(count: int) -> Files:
    source = [
        HEAD,
        *(f"x{i} = torch.arange({i + 2}) + accelerator.device\n!python train.py --a {i}\n" for i in range(count)),
    ]
    return {"a.ipynb": notebook(source), "requirements.txt": PINS}


@law(1600)
def outputs_of_a_notebook(count: int) -> Files:
    return {"a.ipynb": notebook([HEAD], ["a line of output, and more of it\n" * 20] * count), "requirements.txt": PINS}


@law(160)
def notebooks(count: int) -> Files:
    return {f"{i}.ipynb": notebook([HEAD, "x = torch.arange(3)\n"] * 10, ["text\n" * 500]) for i in range(count)}


def notebook(sources: list[str], outputs: list[str] | None = None) -> str:
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code", "metadata": {}, "execution_count": None, "source": source.splitlines(keepends=True),
            "outputs": [{"output_type": "stream", "name": "stdout", "text": [text]} for text in outputs or ()],
        }
        for source in sources
    ]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


# -- what a trainer is given ------------------------------------------------------------------------------------------


def trainer(body: str, model: str = "model") -> Files:
    """A script whose trainer is given what the body has made; a quantised model, so that rules ask how it was made."""
    head = (
        "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForCausalLM\n"
        "from trl import SFTConfig, SFTTrainer\n\n"
    )
    load = 'model = AutoModelForCausalLM.from_pretrained("m", load_in_4bit=True)\n'
    return {"train.py": f"{head}{load}{body}SFTTrainer({model}, args=SFTConfig())\n", "requirements.txt": PINS}


@law(1600)
def assignments_to_a_model(count: int) -> Files:
    return trainer(lines(count, lambda i: f"model = wrap_{i}(model)"))


@law(1600)
def models_under_tests(count: int) -> Files:
    return trainer(lines(count, lambda i: f'if flag_{i}:\n    model = AutoModelForCausalLM.from_pretrained("m{i}")'))


@law(1600)
def changes_of_a_model(count: int) -> Files:
    return trainer(lines(count, lambda i: f"model.config.field_{i} = {i}"))


@law(1600)
def keywords_of_a_model(count: int) -> Files:
    body = lines(count, lambda i: f'kwargs["k{i}"] = {i}')
    return trainer(
        f'kwargs = dict(load_in_4bit=True)\n{body}model = AutoModelForCausalLM.from_pretrained("m", **kwargs)\n'
    )


@law(400)
def helpers_that_make_a_model(count: int) -> Files:
    body = lines(count, lambda i: f"def make_{i}(model):\n    return make_{i + 1}(make_{i + 1}(model))\n")
    return trainer(f"{body}def make_{count}(model):\n    return model\n\n", "make_0(model)")


@law(80)
def calls_in_calls(count: int) -> Files:
    return trainer("def wrap(model):\n    return model\n\n", "wrap(" * count + "model" + ")" * count)


@law(400)
def trainers_of_a_script(count: int) -> Files:
    return trainer(lines(count, lambda i: f"SFTTrainer(model, args=SFTConfig(max_length={i + 1}))"))


_REWARDED = (
    "from datasets import Dataset\nfrom trl import GRPOConfig, GRPOTrainer\n\n"
    'data = Dataset.from_list([{"prompt": [{"role": "user", "content": "Hello."}]}])\n'
)


def rewarded(functions: str) -> str:
    return f'GRPOTrainer("m", reward_funcs={functions}, args=GRPOConfig("out"), train_dataset=data)\n'


@law(200)
def trainers_with_their_objects(count: int) -> Files:
    """Each with a model, a tokenizer, an adapter and a dataset of its own, under names that are bound again."""
    head = (
        "from datasets import load_dataset\nfrom peft import LoraConfig, get_peft_model\n"
        "from transformers import AutoModelForCausalLM, AutoTokenizer\nfrom trl import SFTConfig, SFTTrainer\n\n"
    )
    body = lines(
        count,
        lambda i: (
            f'tokenizer = AutoTokenizer.from_pretrained("gpt2")\nmodel = AutoModelForCausalLM.from_pretrained("m{i}")\n'
            "tokenizer.pad_token = tokenizer.eos_token\n"
            f'tokenizer.add_tokens(["<{i}>"])\nmodel.resize_token_embeddings(len(tokenizer))\n'
            'config = LoraConfig(target_modules=["q_proj"])\nmodel = get_peft_model(model, config)\n'
            'data = load_dataset("d", split="train", streaming=True)\n'
            f'data = data.map(lambda row: {{"text": row["a"] + tokenizer.eos_token + "{i}"}})\n'
            "args = SFTConfig(packing=True, assistant_only_loss=True, gradient_checkpointing=True)\n"
            "SFTTrainer(model, args=args, peft_config=config, processing_class=tokenizer, train_dataset=data)"
        ),
    )
    return {"train.py": f"{head}{body}", "requirements.txt": PINS}


@law(1600)
def reward_functions_of_a_trainer(count: int) -> Files:
    """Whose every other use of a completion stands under a test."""
    body = lines(
        count,
        lambda i: (
            f"def rate_{i}(completions, **others):\n    return [x.strip() if LOW else x[0] for x in completions]\n"
        ),
    )
    names = ", ".join(f"rate_{i}" for i in range(count))
    return {"train.py": f"{_REWARDED}{body}{rewarded(f'[{names}]')}", "requirements.txt": PINS}


@law(800)
def trainers_with_a_reward_function(count: int) -> Files:
    uses = lines(count, lambda i: f"        if LEVEL == {i}:\n            found.append(text.strip())")
    body = f"def rate(completions, **others):\n    found = []\n    for text in completions:\n{uses}    return found\n\n"
    return {"train.py": f"{_REWARDED}{body}{rewarded('rate') * count}", "requirements.txt": PINS}


@law(200)
def runs_of_many_trainers(count: int) -> Files:
    head = (
        "from trl import SFTConfig, SFTTrainer, TrlParser\n\nargs, = TrlParser((SFTConfig,)).parse_args_and_config()\n"
    )
    trainers = lines(count, lambda i: f'SFTTrainer("m{i}", args=args, train_dataset=data)')
    runs = lines(
        count, lambda i: f"accelerate launch train.py --output_dir o{i} --eval_strategy epoch --eval_steps {i}"
    )
    return {"train.py": head + trainers, "run.sh": runs, "requirements.txt": PINS}


@law(400)
def callers_of_a_trainer(count: int) -> Files:
    body = "def main(model):\n    SFTTrainer(model, args=SFTConfig())\n\n"
    return trainer(body + lines(count, lambda i: f"main(load_{i}())"))


@law(1600)
def calls_with_a_model(count: int) -> Files:
    return trainer(lines(count, lambda i: f"show_{i}(model)\nSFTTrainer(model)" if i % 4 == 0 else "print(model)"))


@law(400)
def functions_that_hand_a_model_on(count: int) -> Files:
    body = lines(count, lambda i: f"def hand_{i}():\n    hand_{i + 1}(model)\n    SFTTrainer(model)\n")
    return trainer(body + lines(count, lambda i: f"hand_{i}()"))


@law(400)
def methods_that_set_a_model(count: int) -> Files:
    body = lines(count, lambda i: f"    def load_{i}(self):\n        self.model = load_{i}(self.model)\n")
    return trainer(f"class Run:\n{body}    def train(self):\n        SFTTrainer(self.model)\n\n")


@law(800)
def spreads_of_a_dict(count: int) -> Files:
    parts = lines(count, lambda i: f'    **({{"load_in_4bit": {i}}} if flag_{i} else {{}}),')
    return trainer(f'kwargs = {{\n{parts}}}\nmodel = AutoModelForCausalLM.from_pretrained("m", **kwargs)\n')


@law(800)
def arguments_of_a_parser(count: int) -> Files:
    declared = lines(count, lambda i: f'parser.add_argument("--a{i}", default=None)')
    used = lines(count, lambda i: f"if args.a{i}:\n    model = get_peft_model(model, LoraConfig())")
    body = f"import argparse\n\nparser = argparse.ArgumentParser()\n{declared}args = parser.parse_args()\n{used}"
    return {**trainer(body), "run.sh": "python train.py --a1 x\n"}


# -- what a dataset holds ---------------------------------------------------------------------------------------------


def dataset(body: str, **files: str) -> Files:
    """A script whose trainer is given the dataset that the body leaves."""
    head = "from datasets import Dataset, concatenate_datasets, load_dataset\nfrom trl import SFTConfig, SFTTrainer\n\n"
    rows = 'ds = old = Dataset.from_list([{"question": "q", "answer": "a"}])\n'
    text = f'{head}{rows}{body}SFTTrainer("m", args=SFTConfig(), train_dataset=ds)\n'
    return {"train.py": text, "requirements.txt": PINS, **files}


@law(40)
def maps_that_remove_all_columns(count: int) -> Files:
    train = 'SFTTrainer("m", train_dataset=ds)'
    return dataset(lines(count, lambda i: f"ds, old = ds.map(print, remove_columns=old.column_names), ds\n{train}"))


@law(40)
def datasets_that_are_joined_to_themselves(count: int) -> Files:
    return dataset(lines(count, lambda i: "ds = concatenate_datasets([ds, ds])"))


@law(400)
def loops_over_rows(count: int) -> Files:
    """Each may change the rows that a dataset is made of."""
    loops = lines(count, lambda i: f"for row_{i} in rows:\n    row_{i}['answer'] += row_{i}.get('more', '')\n")
    return dataset(f'rows = [{{"question": "q"}}]\n{loops}ds = Dataset.from_list(rows)\n')


@law(800)
def loads_of_a_dataset(count: int) -> Files:
    body = lines(
        count, lambda i: f'd{i} = load_dataset("json", data_files="d.jsonl")\nSFTTrainer("m", train_dataset=d{i})'
    )
    return {**dataset(body), "d.jsonl": lines(count * 10, lambda i: f'{{"question": "{i}"}}')}


@law(1600)
def keys_of_a_row(count: int) -> Files:
    body = lines(count, lambda i: f'    x["k{i}"] = x["question"]\n    out = {{**out, "k{i}": {i}}}')
    return dataset(f"def f(x):\n    out = {{}}\n{body}    return {{**x, **out}}\n\nds = ds.map(f)\n")


@law(400)
def helpers_that_read_a_row(count: int) -> Files:
    body = lines(count, lambda i: f"def f{i}(x):\n    return f{i + 1}(x) + f{i + 1}(x)\n")
    return dataset(f'{body}ds = ds.map(lambda x: {{"text": f0(x)}})\n')


# -- modules that stand beside each other -----------------------------------------------------------------------------


@law(400)
def modules_that_import_unsloth_late(count: int) -> Files:
    module = "from trl import SFTTrainer\nfrom unsloth import FastLanguageModel\n"
    return {"requirements.txt": "unsloth==2025.11.6\n", **{f"step_{i}.py": module for i in range(count)}}


@law(20_000)
def fields_with_a_format(count: int) -> Files:
    """Of one f-string, which Python before 3.12 looks through for each."""
    return script(f"x = f'{'{a:{b}}' * count}'\n")


@law(3200)
def keys_put_into_a_dict(count: int) -> Files:
    puts = lines(count, lambda i: f"d['a{i % 70}'] = {i}")
    return script(f"d = dict(output_dir='o')\n{puts}GRPOConfig(**d)\n")


@law(200_000)
def letters_of_a_host_name(count: int) -> Files:
    """In the encodings of which, Python's own readers take the square of them."""
    return {"train.py": f"# coding: punycode\n{'x' * count}-{'a' * (count // 2)}\n"}
