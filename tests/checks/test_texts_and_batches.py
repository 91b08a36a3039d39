"""Texts and templates, results and batches: what is told of each kind, and of what is like it and fine."""

# ruff: noqa: E501 (small files, each on one line)
from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.laid_out import lay_out
from trl_lint.engine import check
from trl_lint.settings import Settings

ORACLE = json.loads((Path(__file__).parents[1] / "oracle" / "answer_templates.json").read_text("utf-8"))
MODELS = {"byte-level BPE": "facebook/opt-350m"}


def told(
    folder: Path, code: str, script: str, pin: str = "trl==0.12.2\ntransformers==4.46.3", **more: str
) -> list[str]:
    names = {name.replace("__", "."): text for name, text in more.items()}
    lay_out(folder, {"requirements.txt": f"{pin}\n", "train.py": script, **names})
    result = check([str(folder)], Settings(str(folder)))
    return [finding.message for finding in result.findings if finding.code == code]


SFT = """from trl import DataCollatorForCompletionOnlyLM, SFTConfig, SFTTrainer
{}
SFTTrainer({!r}, args=SFTConfig("o"), train_dataset=rows, formatting_func=texts,
           data_collator=DataCollatorForCompletionOnlyLM({!r}, tokenizer=tokenizer))
"""
WRITERS = {
    "f-string": 'def texts(b):\n    return [f"### Question: {q}\\n### Answer: {a}" for q, a in zip(b["q"], b["a"])]',
    "format": 'F = "### Question: {q}\\n### Answer: {a}"\ndef texts(b):\n    return [F.format(q=q, a=a) for q, a in zip(b["q"], b["a"])]',
    "percent": 'def texts(b):\n    return ["### Question: %s\\n### Answer: %s" % pair for pair in zip(b["q"], b["a"])]',
    "sum": 'def texts(b):\n    return ["### Question: " + q + "\\n### Answer: " + a for q, a in zip(b["q"], b["a"])]',
    "helper": 'def one(q, a):\n    return f"### Question: {q}\\n### Answer: {a}"\ndef texts(b):\n    return [one(q, a) for q, a in zip(b["q"], b["a"])]',
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(("tokenizer", "template", "is_found"), ORACLE["found"])
def test_a_template_is_told_where_a_real_tokenizer_does_not_find_it(
    tokenizer: str, template: str, is_found: bool, writer: str, tmp_path: Path
):
    model = MODELS.get(tokenizer, "meta-llama/Llama-2-7b-hf")
    script = SFT.format(WRITERS[writer], model, template)
    assert (told(tmp_path, "TRL761", script) == []) is is_found


MAPPED = """from datasets import load_dataset
from trl import DataCollatorForCompletionOnlyLM, SFTConfig, SFTTrainer
{}
rows = load_dataset("json", data_files="x.json", split="train").map({})
SFTTrainer("gpt2", args=SFTConfig("o"), train_dataset=rows, data_collator=DataCollatorForCompletionOnlyLM({!r}, tokenizer=t))
"""


@pytest.mark.parametrize(
    ("template", "count"), [("### Reply:", 1), ("### Answer: ", 1), ("### Answer:", 0), ("Reply:", 0)]
)
@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("", "lambda r: {\"text\": f\"### Q: {r['q']}\\n### Answer: {r['a']}\"}"),
        ('def one(r):\n    return {"text": "### Q: " + r["q"] + "\\n### Answer: " + r["a"]}', "one"),
        (
            "def make(t):\n    def one(r):\n        return t(f\"### Q: {r['q']}\\n### Answer: {r['a']}\")\n    return one",
            "make(t)",
        ),
    ],
)
def test_a_template_and_the_texts_that_a_dataset_is_mapped_to(
    before: str, given: str, template: str, count: int, tmp_path: Path
):
    assert len(told(tmp_path, "TRL761", MAPPED.format(before, given, template))) == count


MARKS = {
    "<|im_start>": "<|im_start|>", "<|im_ends|>": "<|im_end|>", "<|imstart|>": "<|im_start|>",
    "<|start_header|>": "<|start_header_id|>", "<|eot_idx|>": "<|eot_id|>", "<|end_header_ids|>": "<|end_header_id|>",
}  # fmt: skip
NO_MARKS = [
    "<|im_sep|>", "<|eom_id|>", "<|eot|>", "<think>", "<answer>", "<|user|>", "<|endoftext|>", "<image>", "<|im_middle|>",
    "<tool_call>", "<|vision_start|>", "<|end_of_text|>", "<|reserved_special_token_0|>",
]  # fmt: skip
TEXT = '"<|im_start|>user<|im_end|> <|start_header_id|>x<|end_header_id|><|eot_id|> {}"'


@pytest.mark.parametrize("mark", MARKS)
def test_a_misspelt_mark_is_told_with_its_token(mark: str, tmp_path: Path):
    (message,) = told(tmp_path, "TRL761", f"import transformers\nx = {TEXT.format(mark)}\n")
    assert f"`{mark}`" in message and f"`{MARKS[mark]}`" in message


@pytest.mark.parametrize("mark", NO_MARKS)
def test_other_words_in_brackets_are_none(mark: str, tmp_path: Path):
    assert told(tmp_path, "TRL761", f"import transformers\nx = {TEXT.format(mark)}\n") == []


@pytest.mark.parametrize(
    ("model", "template", "count"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "llama3", 1),
        ("meta-llama/Llama-3.1-8B-Instruct", "qwen", 1),
        ("google/gemma-2-2b-it", "mistral", 1),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen", 0),
        ("Qwen/Qwen2.5-7B-Instruct", "default", 0),
        ("meta-llama/Llama-3.1-8B", "qwen", 0),  # a base model may learn any
        ("meta-llama/Llama-3.1-8B-Instruct", "alpaca", 0),
        ("/models/llama3-instruct", "qwen", 0),
        ("Qwen/Qwen2-VL-7B-Instruct", "qwen2_vl", 0),
    ],
)
def test_templates_of_other_families(model: str, template: str, count: int, tmp_path: Path):
    recipe = (
        f"model_name_or_path: {model}\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: identity\n"
        f"template: {template}\ncutoff_len: 1024\noutput_dir: out\n"
    )
    assert len(told(tmp_path, "TRL761", "", "llamafactory==0.9.3", run__yaml=recipe)) == count


CLASS = """from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        {}
        return (out.loss * w, out) if return_outputs else out.loss * w
Own(model=AutoModelForSequenceClassification.from_pretrained("{}"), args=TrainingArguments("o"), train_dataset=d)
"""
LEFT = ["w = inputs['weight']; out = model(**inputs)", "w = inputs['weight'].mean(); out = model(**inputs)"]
TAKEN = [
    "w = inputs.pop('weight'); out = model(**inputs)",
    "w = inputs['weight']; del inputs['weight']; out = model(**inputs)",
    "w = inputs['weight']; inputs = {k: v for k, v in inputs.items() if k != 'weight'}; out = model(**inputs)",
    "w = inputs['weight']; out = model(input_ids=inputs['input_ids'], labels=inputs['labels'])",
    "w = inputs['labels'].sum(); out = model(**inputs)",
    "w = inputs['token_type_ids'].sum(); out = model(**inputs)",
]


@pytest.mark.parametrize("body", [*LEFT, *TAKEN])
def test_a_column_that_is_left_in_the_batch(body: str, tmp_path: Path):
    script = CLASS.format(body, "google-bert/bert-base-uncased")
    assert len(told(tmp_path / "old", "TRL765", script, "transformers==4.51.3")) == (body in LEFT)
    assert told(tmp_path / "new", "TRL765", script, "transformers==5.9.0") == []  # takes other keywords
    other = CLASS.format(body, "answerdotai/ModernBERT-base")
    assert told(tmp_path / "other", "TRL765", other, "transformers==4.51.3") == []


COLLATE = """from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
tok = AutoTokenizer.from_pretrained("gpt2")
def collate(rows):
    {}
    return b
Trainer(model=AutoModelForCausalLM.from_pretrained("gpt2"), args=TrainingArguments("o"{}), train_dataset=d, data_collator=collate)
"""
KEPT = ", remove_unused_columns=False"
MASK = "b['labels'] = b['input_ids'].clone(); b['labels'][b['attention_mask'] == 0] = -100"
COLLATORS = {
    "a text": ("b = tok([r['text'] for r in rows], padding=True, return_tensors='pt'); " + MASK, "", 1),
    "kept": ("b = tok([r['text'] for r in rows], padding=True, return_tensors='pt'); " + MASK, KEPT, 0),
    "tokens": ("b = tok.pad([{'input_ids': r['input_ids']} for r in rows]); " + MASK, "", 0),
    "asked": ("b = tok([r['text'] if 'text' in r else '' for r in rows], padding=True); " + MASK, "", 0),
    "a copy": ("b = tok([r['text'] for r in rows], padding=True); b['labels'] = b['input_ids'].clone()", KEPT, 1),
    "a name": ("b = tok([r['text'] for r in rows], padding=True); x = b.input_ids.clone(); b['labels'] = x", KEPT, 1),
    "masked later": ("b = tok([r['text'] for r in rows], padding=True); x = b.input_ids.clone(); x[x == 0] = -100; b['labels'] = x", KEPT, 0),
    "no padding": ("b = tok([r['text'] for r in rows]); b['labels'] = b['input_ids']", KEPT, 0),
    "one row": ("b = tok([r['text'] for r in rows], padding=True); b['labels'] = b['input_ids']", KEPT + ", per_device_train_batch_size=1", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", COLLATORS)
def test_collators(name: str, tmp_path: Path):
    body, more, count = COLLATORS[name]
    assert len(told(tmp_path, "TRL765", COLLATE.format(body, more), "transformers==4.51.3")) == count


CHAT = "from trl import setup_chat_format, clone_chat_template\n"
RESULTS = [
    ("m, t = setup_chat_format(m, t)", "0.19.1", 0),
    ("r = setup_chat_format(m, t)\nm = r[0]", "0.19.1", 0),
    ("r = setup_chat_format(m, t)\nm, t = r", "0.19.1", 0),
    ("m = setup_chat_format(m, t)\nm.train()", "0.19.1", 1),
    ("m, t, n = clone_chat_template(m, t, 'x')", "0.19.1", 1),
    ("m, t, n = clone_chat_template(m, t, 'x')", "0.24.0", 0),
    ("m, t = clone_chat_template(m, t, 'x')", "0.24.0", 1),
    ("m, *rest = clone_chat_template(m, t, 'x')", "0.24.0", 0),
]


@pytest.mark.parametrize(("code", "release", "count"), RESULTS)
def test_numbers_of_results(code: str, release: str, count: int, tmp_path: Path):
    assert len(told(tmp_path, "TRL764", f"{CHAT}{code}\n", f"trl=={release}")) == count


FUNCTIONS = {
    "list": ("def texts(b):\n    return [q for q in b['q']]", {"0.12.2": 0, "0.16.0": 0, "0.17.0": 1, "1.9.0": 1}),
    "text": ("def texts(b):\n    return f\"{b['q']}\"", {"0.12.2": 1, "0.15.2": 0, "0.24.0": 0}),
    "either": ("def texts(b):\n    if many:\n        return [b['q']]\n    return b['q']", {"0.12.2": 0, "0.24.0": 0}),
    "unknown": ("def texts(b):\n    return made(b)", {"0.12.2": 0, "0.24.0": 0}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_formatting_function_gives(name: str, tmp_path: Path):
    function, counts = FUNCTIONS[name]
    script = f"from trl import SFTConfig, SFTTrainer\n{function}\nSFTTrainer('x/y', args=SFTConfig('o'), train_dataset=d, formatting_func=texts)\n"
    for release, count in counts.items():
        assert len(told(tmp_path / release, "TRL764", script, f"trl=={release}")) == count, release


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("bnb_4bit_compute_type='bfloat16'", 1),
        ("bnb_4bit_compute_dtype='bfloat16'", 0),
        ("quant_method='bitsandbytes'", 0),
    ],
)
def test_keywords_that_are_dropped(code: str, count: int, tmp_path: Path):
    script = f"from transformers import BitsAndBytesConfig\nBitsAndBytesConfig(load_in_4bit=True, {code})\n"
    assert len(told(tmp_path, "TRL301", script, "transformers==4.51.3")) == count


OVERRIDES = [
    (
        "DPOTrainer",
        "get_batch_loss_metrics(self, model, batch, t)",
        "chosen_labels",
        {"0.11.4": 0, "0.12.0": 1, "0.19.1": 1},
    ),
    ("DPOTrainer", "concatenated_forward(self, model, batch)", "ref_chosen_logps", {"0.11.4": 1, "0.12.0": 0}),
    ("DPOTrainer", "compute_loss(self, model, inputs)", "prompt_input_ids", {"0.28.0": 0, "0.29.0": 1}),
    ("GRPOTrainer", "compute_loss(self, model, inputs)", "prompt_ids", {"0.14.0": 1, "0.15.0": 0, "1.9.0": 0}),
    ("GRPOTrainer", "_compute_loss(self, model, inputs)", "old_per_token_logps", {"0.15.2": 1, "0.19.1": 0}),
    ("SFTTrainer", "compute_loss(self, model, inputs)", "chosen_labels", {"0.19.1": 0}),
]


@pytest.mark.parametrize(("trainer", "method", "column", "counts"), OVERRIDES)
def test_columns_of_other_releases(trainer: str, method: str, column: str, counts: dict[str, int], tmp_path: Path):
    given = method.split(", ")[2].strip(")")
    script = f"from trl import {trainer}\nclass Own({trainer}):\n    def {method}:\n        return {given}['{column}'].sum()\n"
    for release, count in counts.items():
        assert len(told(tmp_path / release, "TRL765", script, f"trl=={release}")) == count, release
        own = f"{script}    def tokenize_row(self, row):\n        return row\n"
        assert told(tmp_path / f"own{release}", "TRL765", own, f"trl=={release}") == []


ROWS = """from datasets import Dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
rows = Dataset.from_list([{}]){}
Trainer(model=AutoModelForCausalLM.from_pretrained("gpt2"), args=TrainingArguments("o"{}), train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("row", "steps", "more", "count"),
    [
        ("{'text': 'a'}", "", "", 1),
        ("{'question': 'a', 'answer': 'b'}", ".shuffle()", "", 1),
        ("{'text': 'a'}", "", ", remove_unused_columns=False", 0),
        ("{'text': 'a'}", ".map(lambda r: tok(r['text']))", "", 0),
        ("{'input_ids': [1], 'text': 'a'}", "", "", 0),
    ],
)
def test_a_dataset_without_a_column_for_the_model(row: str, steps: str, more: str, count: int, tmp_path: Path):
    assert len(told(tmp_path, "TRL765", ROWS.format(row, steps, more), "transformers==4.51.3")) == count


COLLATING = """from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
class Collate:
    def __init__(self, tok):
        self.tok = tok
    def __call__(self, rows):
        batch = self.tok.pad([{{"input_ids": r["input_ids"]}} for r in rows], padding=True)
        {}
        return batch
tok = AutoTokenizer.from_pretrained("gpt2")
Trainer(model=AutoModelForCausalLM.from_pretrained("gpt2"), args=TrainingArguments("o"), train_dataset=d, data_collator=Collate(tok))
"""


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("batch['labels'] = batch['input_ids'].clone()", 1),
        ("batch['labels'] = self.masked(batch['input_ids'])", 0),
        ("batch['labels'] = batch['input_ids'].clone(); self.mask(batch)", 0),
    ],
)
def test_collators_that_are_objects(line: str, count: int, tmp_path: Path):
    assert len(told(tmp_path, "TRL765", COLLATING.format(line), "transformers==4.51.3")) == count


def test_a_text_that_a_function_writes(tmp_path: Path):
    script = """from transformers import AutoTokenizer
tok = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-Instruct-v0.2")
HEAD = "<s>[INST] {q} [/INST]"
def prompt(row):
    return HEAD.format(q=row["q"])
def enc(row):
    return tok(prompt(row) + row["a"])
"""
    assert len(told(tmp_path / "a", "TRL762", script)) == 1
    assert told(tmp_path / "b", "TRL762", script.replace("<s>", "")) == []
