"""The columns of datasets, followed from what loaded them to the trainer.

What `WRITTEN` expects was compared with `datasets` 5.0.1, which ran the same lines.
"""

import pytest

from trl_lint.project import Project
from trl_lint.run import columns
from trl_lint.run.columns import columns_of, files
from trl_lint.run.trainer import trainer_calls
from trl_lint.settings import Settings
from trl_lint.sources import Files

HEAD = "from datasets import Dataset, DatasetDict, IterableDataset, concatenate_datasets, load_dataset\n"
TAIL = "\nfrom trl import SFTTrainer\nSFTTrainer(model='m', train_dataset=ds)\n"
ROWS = 'ds = Dataset.from_list([{"question": "q", "answer": "a"}, {"question": "r", "answer": "b"}])\n'

# The lines that make `ds`, and its columns.
WRITTEN = [
    ('ds = Dataset.from_list([{"a": 1, "b": 2}])', "a b"),
    ('ds = Dataset.from_dict({"a": [1], "b": [2]})', "a b"),
    ('ds = Dataset.from_list([{"a": i} for i in range(3)])', "a"),
    ('rows = []\nfor i in range(3):\n    rows.append({"a": i, "b": "x"})\nds = Dataset.from_list(rows)', "a b"),
    ('columns = {"a": [1]}\ncolumns["b"] = [2]\nds = Dataset.from_dict(columns)', "a b"),
    ('def rows():\n    for i in range(3):\n        yield {"a": i}\nds = Dataset.from_generator(rows)', "a"),
    ('import pandas as pd\nds = Dataset.from_pandas(pd.DataFrame({"a": [1], "b": [2]}))', "a b"),
    (ROWS + 'ds = ds.rename_column("question", "prompt")', "answer prompt"),
    (ROWS + 'ds = ds.rename_columns({"question": "prompt", "answer": "completion"})', "completion prompt"),
    (ROWS + 'ds = ds.remove_columns("answer")', "question"),
    (ROWS + 'ds = ds.remove_columns(["answer"])', "question"),
    (ROWS + 'ds = ds.select_columns(["answer"])', "answer"),
    (ROWS + 'ds = ds.add_column("id", [1, 2])', "answer id question"),
    (ROWS + 'ds = ds.train_test_split(test_size=0.5)["train"]', "answer question"),
    (ROWS + "ds = ds.shuffle(seed=1).select(range(1)).filter(lambda x: True)", "answer question"),
    (ROWS + 'ds = ds.map(lambda x: {"text": x["question"]})', "answer question text"),
    (ROWS + 'ds = ds.map(lambda x: {"text": x["question"]}, remove_columns=ds.column_names)', "text"),
    (ROWS + 'ds = ds.map(lambda x: {"answer": "c"}, remove_columns=["question", "answer"])', "answer"),
    (ROWS + 'def f(x):\n    x["text"] = x["question"]\n    return x\nds = ds.map(f)', "answer question text"),
    (ROWS + 'def f(x):\n    out = {}\n    out["text"] = "t"\n    return out\nds = ds.map(f)', "answer question text"),
    (ROWS + 'def f(x):\n    return {**x, "text": "t"}\nds = ds.map(f)', "answer question text"),
    (ROWS + 'def f(x):\n    return dict(x, text="t")\nds = ds.map(f)', "answer question text"),
    (ROWS + "def f(x):\n    print(x)\nds = ds.map(f)", "answer question"),
    (ROWS + 'def f(x):\n    x["text"] = "t"\n    return {"b": 1}\nds = ds.map(f)', "answer b question text"),
    (ROWS + 'def f(x):\n    row = x\n    row["text"] = "t"\n    return x\nds = ds.map(f)', "answer question text"),
    (
        ROWS + "def say(row):\n    return f\"{row['question']} {row.get(1)}\"\n"
        'def f(x):\n    return {"text": say(x)}\nds = ds.map(f)',
        "answer question text",
    ),
    (ROWS + 'def f(x):\n    x["text"] = json.dumps(x)\n    return x\nds = ds.map(f)', "answer question text"),
    (ROWS + 'ds = DatasetDict({"train": ds, "test": ds})["train"]', "answer question"),
    (ROWS + 'other = Dataset.from_list([{"b": 1}])\nds = concatenate_datasets([ds, other])', "answer b question"),
    (ROWS + "ds = ds.to_iterable_dataset()", "answer question"),
    (
        ROWS + 'both = DatasetDict({"train": ds})\nboth = both.map(lambda x: {"text": "t"})\nds = both["train"]',
        "answer question text",
    ),
]
# Lines after which nobody can tell all the columns.
OPEN = [
    'ds = load_dataset("me/mine", split="train")',
    'ds = load_dataset(name, split="train")',
    ROWS + "ds = ds.map(tokenize)",
    ROWS + "def f(x):\n    return tokenizer(x['question'])\nds = ds.map(f)",
    ROWS + "def f(x):\n    return {k: 1 for k in x}\nds = ds.map(f)",
    ROWS + 'def f(x):\n    out = make()\n    out["a"] = 1\n    return out\nds = ds.map(f)',
    ROWS + "def f(x):\n    fix(x)\n    return x\nds = ds.map(f)",
    ROWS + "def f(x):\n    fix(row=x)\nds = ds.map(f)",
    ROWS + 'def f(x):\n    tools.fix(x)\n    return {"a": 1}\nds = ds.map(f)',
    ROWS + 'ds = ds.map(lambda x: {"a": fix(x)})',
    ROWS + 'def fix(row):\n    row["prompt"] = "p"\ndef f(x):\n    fix(x)\n    return x\nds = ds.map(f)',
    ROWS + 'def fix(row):\n    kept = row\n    kept["prompt"] = 1\nds = ds.map(lambda x: {"a": fix(x)})',
    ROWS + 'def fix(row):\n    deeper(row)\nds = ds.map(lambda x: {"a": fix(x)})',
    ROWS + 'def f(x):\n    out = {"a": 1}\n    fill(out)\n    return out\nds = ds.map(f)',
    ROWS + "ds = ds.remove_columns([c for c in ds.column_names if c in keep])",
    ROWS + "ds = ds.with_transform(f)",
    ROWS + "ds.set_transform(f)",
    ROWS + "ds = ds.flatten()",
    ROWS + "ds = ds.rename_columns(names)",
    "rows = read()\nds = Dataset.from_list(rows)",
    'rows = [{"a": 1}]\nrows.extend(more)\nds = Dataset.from_list(rows)',
    'row = {"a": [1]}\nrow.update(more)\nds = Dataset.from_dict(row)',
    "ds = standardize_sharegpt(Dataset.from_list([{'a': 1}]))",
    "class Own:\n    def __getitem__(self, i):\n        return {'a': 1}\nds = Own()",
]


def read(tmp_path, text):
    """What is known of each possibility for the dataset of the one trainer."""
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    project = Project(str(tmp_path), Files(), Settings(str(tmp_path)))
    (call,) = trainer_calls(project.module_in(str(script)), project)
    return columns_of(call.given("train_dataset"))


@pytest.mark.parametrize(("lines", "expected"), WRITTEN)
def test_columns_that_are_written_down(tmp_path, lines, expected):
    (found,) = read(tmp_path, HEAD + lines + TAIL)
    assert found.complete
    assert sorted(found.names) == expected.split()
    assert not found.is_remembered


@pytest.mark.parametrize("lines", OPEN)
def test_what_nobody_can_tell_lacks_nothing(tmp_path, lines):
    found = read(tmp_path, HEAD + lines + TAIL)
    assert found
    assert [one for one in found if one.complete or one.lacks("prompt")] == []


def test_a_column_that_is_set_under_a_condition_may_be_there(tmp_path):
    lines = ROWS + 'def f(x):\n    if x["answer"]:\n        x["text"] = "t"\n    return x\nds = ds.map(f)'
    (found,) = read(tmp_path, HEAD + lines + TAIL)
    assert (set(found.certain), found.maybe, found.complete) == ({"question", "answer"}, {"text"}, True)


@pytest.mark.parametrize("line", ['x.pop("answer")', 'del x["answer"]', "x.pop(name)", "x.clear()"])
def test_a_column_that_a_function_takes_out_may_be_gone(tmp_path, line):
    (found,) = read(tmp_path, HEAD + ROWS + f"def f(x):\n    {line}\n    return x\nds = ds.map(f)" + TAIL)
    assert found.complete and "answer" in found.maybe and not found.lacks("answer")


def test_a_column_is_gone_from_what_is_not_known(tmp_path):
    (found,) = read(
        tmp_path, HEAD + 'ds = load_dataset("me/mine", split="train").rename_column("prompt", "text")' + TAIL
    )
    assert found.lacks("prompt") and not found.lacks("messages") and set(found.certain) == {"text"}


def test_both_arms_of_a_branch_are_read(tmp_path):
    lines = 'if small:\n    ds = Dataset.from_list([{"a": 1}])\nelse:\n    ds = load_dataset("me/mine")["train"]'
    assert [found.complete for found in read(tmp_path, HEAD + lines + TAIL)] == [True, False]


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ('ds = Dataset.from_list([{"prompt": [{"role": "user", "content": "x"}]}])', {"prompt": "messages"}),
        (
            'ds = Dataset.from_list([{"a": [{"from": "human", "value": "x"}], "b": "t"}])',
            {"a": "from/value", "b": "text"},
        ),
        (ROWS + 'ds = ds.map(lambda x: {"t": f"{x}"}, remove_columns=ds.column_names)', {"t": "text"}),
        (ROWS + 'ds = ds.map(lambda x: {"t": ["a"]}, batched=True, remove_columns=ds.column_names)', {"t": ""}),
    ],
)
def test_kinds(tmp_path, lines, kinds):
    (found,) = read(tmp_path, HEAD + lines + TAIL)
    assert found.certain == kinds


@pytest.mark.parametrize(
    ("lines", "streams"),
    [
        ('ds = load_dataset("me/mine", split="train", streaming=True)', True),
        ('ds = load_dataset("me/mine", split="train", streaming=True).map(f).take(10)', True),
        ('ds = load_dataset("me/mine", split="train")', False),
        ('ds = load_dataset("me/mine", split="train", streaming=args.streaming)', None),
        ('def rows():\n    yield {"a": 1}\nds = IterableDataset.from_generator(rows)', True),
        (ROWS, False),
        (ROWS + "ds = ds.to_iterable_dataset()", True),
        ("ds = make()", None),
    ],
)
def test_streams(tmp_path, lines, streams):
    (found,) = read(tmp_path, HEAD + lines + TAIL)
    assert found.streams is streams


@pytest.mark.parametrize(
    ("name", "text", "builder", "expected"),
    [
        ("d.jsonl", '{"a": 1, "b": "x"}\n{"a": 2, "c": []}\n', "json", "a b c"),
        ("d.json", '[{"a": 1}, {"b": 2}]', "json", "a b"),
        ("d.csv", "a,b\n1,2\n", "csv", "a b"),
        ("d.json", '{"data": [{"a": 1}]}', "json", "data"),
        ("d.jsonl", '{"a": 1}\nnot json\n', "json", None),
        ("d.jsonl", "", "json", None),
        ("d.jsonl", '{"a": "' + "x" * 1_000_001 + '"}\n', "json", None),
    ],
)
def test_local_files(tmp_path, name, text, builder, expected):
    (tmp_path / name).write_text(text, encoding="utf-8")
    (found,) = read(tmp_path, HEAD + f'ds = load_dataset("{builder}", data_files="{name}", split="train")' + TAIL)
    assert (" ".join(sorted(found.names)) if found.complete else None) == expected


KEYWORDS = [
    'delimiter=";"', 'sep="|"', 'names=["prompt"]', 'column_names=["prompt"]', "header=None", "skiprows=1",
    'field="data"', "features=features", 'usecols=["a"]', "index_col=0", "**options", "**{'field': 'data'}",
    'quotechar="\'"', 'comment="a"', 'encoding="utf-16"', 'revision="main"', 'data_dir="other"',
]  # fmt: skip


@pytest.mark.parametrize("keyword", KEYWORDS)
@pytest.mark.parametrize("builder", ["csv", "json"])
def test_a_keyword_that_changes_how_a_file_is_read_leaves_nothing_known(tmp_path, builder, keyword):
    (tmp_path / "d").write_text({"csv": "a;b\n1;2\n", "json": '{"a": 1}\n'}[builder], encoding="utf-8")
    load = f'ds = load_dataset("{builder}", data_files="d", split="train", {keyword})'
    (found,) = read(tmp_path, HEAD + load + TAIL)
    assert not found.complete and not found.certain


@pytest.mark.parametrize("keyword", ['cache_dir="c"', "num_proc=2", "streaming=True", "**{'token': True}", "name='x'"])
def test_a_keyword_that_changes_no_column(tmp_path, keyword):
    (tmp_path / "d").write_text("a,b\n1,2\n", encoding="utf-8")
    (found,) = read(tmp_path, HEAD + f'ds = load_dataset("csv", data_files="d", split="train", {keyword})' + TAIL)
    assert found.complete and sorted(found.names) == ["a", "b"]


def test_a_file_is_read_once_however_often_it_is_loaded(tmp_path, monkeypatch):
    (tmp_path / "d.json").write_text('{"a": 1}\n', encoding="utf-8")
    text = HEAD + "".join(f'd{i} = load_dataset("json", data_files="d.json", split="train")\n' for i in range(5))
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(text + "from trl import SFTTrainer\n" + "".join(
            f"SFTTrainer(model='m', train_dataset=d{i})\n" for i in range(5)
        ), encoding="utf-8")  # fmt: skip
    project = Project(str(tmp_path), Files(), Settings(str(tmp_path)))
    reads = []
    monkeypatch.setattr(files, "_of_json", lambda text, was=files._of_json: reads.append(text) or was(text))
    for name in ("one.py", "two.py"):
        for call in trainer_calls(project.module_in(str(tmp_path / name)), project):
            assert [one.complete for one in columns_of(call.given("train_dataset"))] == [True]
    assert len(reads) == 1


def test_a_file_that_is_not_there_tells_nothing(tmp_path):
    (found,) = read(tmp_path, HEAD + 'ds = load_dataset("json", data_files="d.jsonl")["train"]' + TAIL)
    assert found == found._replace(certain={}, complete=False)


def test_datasets_on_the_hub_are_remembered(tmp_path):
    (found,) = read(tmp_path, HEAD + 'ds = load_dataset("openai/gsm8k", "main", split="train")' + TAIL)
    assert (set(found.certain), found.complete, found.is_remembered) == ({"question", "answer"}, True, True)
    for keyword in ('data_files="x.json"', 'columns=["question"]'):
        (found,) = read(tmp_path, HEAD + f'ds = load_dataset("openai/gsm8k", "main", {keyword}, split="train")' + TAIL)
        assert not found.certain


CHAINS = {
    "a map that removes all columns": "ds = ds.map(lambda x: {'a': 1}, remove_columns=ds.column_names)\n",
    "a map that removes those of another": "ds, old = ds.map(f, remove_columns=old.column_names), ds\n",
    "a dataset that is joined to itself": "ds = concatenate_datasets([ds, ds])\n",
    "a split of two": "ds = DatasetDict({'train': concatenate_datasets([ds, ds])})['train']\n",
}


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_used_twice_at_each_step_is_read_once(tmp_path, monkeypatch, name):
    """A chain of 25 steps that doubles would be read 33 million times."""
    read_parts = []
    monkeypatch.setattr(
        columns, "_read", lambda made, asked, was=columns._read: read_parts.append(1) or was(made, asked)
    )
    read(tmp_path, HEAD + ROWS + "old = ds\n" + CHAINS[name] * 25 + TAIL)
    assert len(read_parts) < 100


def test_a_row_that_is_built_on_itself_many_times(tmp_path):
    steps = "".join(f'    out = {{**out, "k{i}": 1}}\n' for i in range(300))
    lines = ROWS + f"def f(x):\n    out = {{}}\n{steps}    return out\nds = ds.map(f)"
    (found,) = read(tmp_path, HEAD + lines + TAIL)
    assert not found.complete
