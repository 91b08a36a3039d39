"""What a run joins: links, processes, effective values and where each of them was set."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from trl_lint.engine import check
from trl_lint.knowledge.needles import MAX_BYTES
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project import Project
from trl_lint.run.effective import Setting, Unknown
from trl_lint.run.runs import Run, all_runs
from trl_lint.run.servers import servers_of, share_of, shown_ids
from trl_lint.settings import Settings
from trl_lint.sources import Files

PARSED = """
    from dataclasses import dataclass
    from trl import GRPOConfig, GRPOTrainer, ModelConfig, TrlParser

    @dataclass
    class Mine(GRPOConfig):
        beta: float = 0.1

    args, model = TrlParser((Mine, ModelConfig)).parse_args_and_config()
"""
ACCELERATE = """
    compute_environment: LOCAL_MACHINE
    distributed_type: {kind}
    num_machines: 1
    num_processes: 6
"""


def project_of(folder: Path, **files: str) -> Project:
    (folder / ".git").mkdir()
    for name, text in {"requirements__txt": "trl==1.16.0\ntransformers==5.23.0\n", **files}.items():
        path = folder / name.replace("__", ".")
        path.write_text(dedent(text), encoding="utf-8")
    return Project(str(folder), Files({}), Settings())


def run_of(folder: Path, command: str, **files: str) -> Run:
    (run,) = all_runs(project_of(folder, **{"run__sh": command + "\n", "train__py": PARSED, **files}))
    return run


def value(said: object) -> object:
    return said.value if isinstance(said, Setting) else UNKNOWN if isinstance(said, Unknown) else said


@pytest.mark.parametrize(
    ("command", "processes"),
    [
        ("python train.py", 1),
        ("srun python train.py", UNKNOWN),
        ("accelerate launch train.py", UNKNOWN),
        ("accelerate launch --num_processes 4 train.py", 4),
        ("accelerate launch --num-processes=4 train.py", 4),
        ("accelerate launch --num_processes $N train.py", UNKNOWN),
        ("N=4; accelerate launch --num_processes $((N - 1)) train.py", 3),
        ("accelerate launch --config_file multi.yaml train.py", 6),
        ("accelerate launch --config_file multi.yaml --num_processes 2 train.py", 2),
        ("accelerate launch --config_file one.yaml train.py", 1),
        ("accelerate launch --config_file missing.yaml train.py", UNKNOWN),
        ("torchrun --nproc_per_node 4 train.py", 4),
        ("torchrun --nproc_per_node 4 --nnodes 2 train.py", 8),
        ("torchrun --nproc_per_node gpu train.py", UNKNOWN),
        ("torchrun train.py", 1),
        ("torchrun $ARGS train.py", UNKNOWN),
        ('torchrun "--nproc_per_node=$N" train.py', UNKNOWN),
        ("torchrun $A --nproc_per_node=2 train.py", 2),
        ("torchrun --nproc_per_node auto train.py", UNKNOWN),
        ("NPROC_PER_NODE=2 swift sft", 2),
        ("deepspeed --num_gpus 4 train.py", 4),
        ("deepspeed --num_gpus 4 --num_nodes 2 train.py", UNKNOWN),
        ("deepspeed --include localhost:2,3 train.py", 2),
        ("deepspeed train.py", UNKNOWN),
        ("trl grpo --num_processes 4", 4),
        ("trl grpo --accelerate_config zero2", 8),
        ("trl grpo --accelerate_config single_gpu", 1),
        ("trl grpo --accelerate_config multi.yaml", 6),
        ("trl grpo --config recipe.yaml", 2),
        ("trl grpo", UNKNOWN),
    ],
)
def test_processes(tmp_path: Path, command: str, processes: object):
    run = run_of(
        tmp_path,
        command,
        multi__yaml=ACCELERATE.format(kind="MULTI_GPU"),
        one__yaml=ACCELERATE.format(kind='"NO"'),
        recipe__yaml="model_name_or_path: x\nlearning_rate: 1\noutput_dir: x\nmax_steps: 1\nnum_processes: 2\n",
    )
    found = run.processes
    assert (found.value if isinstance(found, Setting) else found) == processes


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("accelerate launch train.py", (0.1, "default")),
        ("accelerate launch train.py --config recipe.yaml", (0.2, "recipe")),
        ("accelerate launch train.py --config recipe.yaml --beta 0.3", ("0.3", "flag")),
        ("accelerate launch train.py --config recipe.yaml --beta=$BETA", (UNKNOWN, "flag")),
    ],
)
def test_later_layers_win(tmp_path: Path, command: str, expected: tuple[object, str]):
    recipe = "model_name_or_path: x\nlearning_rate: 1\noutput_dir: x\nmax_steps: 1\nbeta: 0.2\n"
    said = run_of(tmp_path, command, recipe__yaml=recipe).config.given("beta")
    assert isinstance(said, Setting)
    assert (said.value, said.origin) == expected


@pytest.mark.parametrize(
    "command", ["python train.py $REST", "python train.py --config $C", "python train.py --config no"]
)
def test_what_may_be_set_out_of_sight_is_unknown(tmp_path: Path, command: str):
    assert isinstance(run_of(tmp_path, command).config.given("num_generations"), Unknown)


def test_defaults_come_from_the_releases_in_use(tmp_path: Path):
    run = run_of(tmp_path, "python train.py")
    assert run.arguments_class == "trl.GRPOConfig"
    assert run.config.given("num_generations") is ABSENT
    new = {"trl": "1.16.0", "transformers": "5.23.0"}
    old = {"trl": "0.18.2", "transformers": "4.52.4"}
    assert [value(run.config.at(v).final("max_completion_length")) for v in (old, new)] == [256, 512]
    assert [value(run.config.at(v).final("per_device_train_batch_size")) for v in (old, new)] == [8, 8]
    assert run.config.at(new).final("no_such_field") is ABSENT


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("args.beta = 0.5", 0.5),
        ("if x:\n    args.beta = 0.5", UNKNOWN),
        ("args.beta = read()", UNKNOWN),
        ("args.beta = 0.5\nargs.beta = 0.6", UNKNOWN),
        ("setattr(args, 'beta', 1)", UNKNOWN),
        ("setattr(args, name, 1)", UNKNOWN),
        ("args = dataclasses.replace(args, beta=1)", UNKNOWN),
    ],
)
def test_what_the_script_does_later_wins(tmp_path: Path, line: str, expected: object):
    project = project_of(tmp_path, run__sh="python train.py --beta 0.3\n", train__py=dedent(PARSED) + line + "\n")
    (run,) = all_runs(project)
    assert value(run.config.given("beta")) == expected


def test_a_config_built_in_the_script(tmp_path: Path):
    script = "from trl import GRPOConfig\nargs = GRPOConfig('out', num_generations=4, beta=read(), **more)\n"
    (run,) = all_runs(project_of(tmp_path, run__sh="python train.py --num_generations 16\n", train__py=script))
    assert value(run.config.given("num_generations")) == 4
    assert value(run.config.given("beta")) is UNKNOWN
    assert value(run.config.given("learning_rate")) is UNKNOWN


def test_two_configs_are_not_guessed_between(tmp_path: Path):
    script = "from trl import GRPOConfig, SFTConfig\nSFTConfig(output_dir='a')\nGRPOConfig(output_dir='b')\n"
    (run,) = all_runs(project_of(tmp_path, run__sh="python train.py\n", train__py=script))
    assert (run.arguments_class, value(run.config.given("output_dir"))) == ("", UNKNOWN)


def test_servers_and_shares(tmp_path: Path):
    commands = """
        CUDA_VISIBLE_DEVICES=4,5 vllm serve Qwen/Qwen3-0.6B -tp 2 --port 8001 &
        CUDA_VISIBLE_DEVICES=0,1,2,3 accelerate launch --num_processes 3 train.py
    """
    runs = all_runs(project_of(tmp_path, run__sh=commands, train__py=PARSED))
    server, run = runs
    assert server.framework == "vllm"
    (found,) = servers_of(run)
    assert (found.own, found.gpus, found.ranks, found.port, found.in_background) == (False, ("4", "5"), 2, 8001, True)
    assert share_of(run).taken == ("0", "1", "2")


def test_gpu_ids_in_few_characters():
    assert [shown_ids(ids) for ids in (None, (), ("0",), ("0", "1"), ("0", "1", "2"), ("1", "3", "5"), ("GPU-a",))] == [
        "?", "none", "0", "0,1", "0-2", "1,3,5", "GPU-a",
    ]  # fmt: skip


HF = """
    from transformers import HfArgumentParser, TrainingArguments

    parser = HfArgumentParser(TrainingArguments)
    (args,) = parser.parse_{}_file("x") if sys.argv[1:] else parser.parse_args_into_dataclasses()
"""


@pytest.mark.parametrize(
    ("command", "script", "expected"),
    [
        ("python train.py --config mine.yaml", PARSED, 0.2),
        ("trl grpo --config mine.yaml --model_name_or_path x", PARSED, 0.2),
        ("python train.py --config mine.json", PARSED, 0.3),
        ("python train.py --config list.yaml", PARSED, UNKNOWN),
        ("python train.py --config broken.yaml", PARSED, UNKNOWN),
        ("python train.py mine.yaml", HF.format("yaml"), 0.2),
        ("python train.py mine.yaml --output_dir x", HF.format("yaml"), UNKNOWN),
        ("python train.py --config mine.yaml", HF.format("yaml"), UNKNOWN),  # whose field is that?
    ],
)
def test_a_recipe_without_a_model_is_read_where_the_parser_takes_any(
    tmp_path: Path, command: str, script: str, expected: object
):
    run = run_of(
        tmp_path,
        command,
        train__py=script,
        mine__yaml="some_model: x\nbeta: 0.2\nadam_beta1: 0.2\n",
        mine__json='{"beta": 0.3}',
        list__yaml="- beta: 0.2\n",
        broken__yaml="beta: [\n",
    )
    assert value(run.config.given("beta" if script is PARSED else "adam_beta1")) == expected


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, {("r.yaml", 2, "TRL301")}),
        ({"other.sh": "python train.py --config r.yaml\n"}, {("r.yaml", 2, "TRL301")}),
        ({"run.sh": "python train.py\n"}, set()),
        ({"run.sh": "python train.py --config $C\n"}, set()),
        ({"run.sh": "python train.py --config r.yaml\n", "train.py": HF.format("yaml")}, set()),
        ({"r.yaml": "beta: 0.2\nvllm_device: auto\nmodel_name_or_path: x\n"}, {("r.yaml", 2, "TRL301")}),
        ({"r.yaml": "beta: 0.2  # vllm_device\nmax_completion_length: 64\n"}, set()),
    ],
)
def test_a_linked_recipe_is_checked_as_one(tmp_path: Path, files: dict[str, str], found: set[tuple[str, int, str]]):
    given = {
        "requirements.txt": "trl==0.19.0\ntransformers==4.53.0\n",
        "run.sh": "python train.py --config r.yaml\n",
        "train.py": PARSED,
        "r.yaml": "beta: 0.2\nvllm_device: auto\n",
        **files,
    }
    for name, text in given.items():
        (tmp_path / name).write_text(dedent(text), encoding="utf-8")
    result = check([str(tmp_path)], Settings(root=str(tmp_path)))
    places = [
        (Path(one.location.path).name, text_of(one.location.path).count("\n", 0, one.location.start) + 1, one.code)
        for one in result.findings
        if one.location.path.endswith("r.yaml")
    ]
    assert set(places) == found and len(places) == len(found)


def text_of(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def test_a_linked_file_of_many_megabytes_is_data(tmp_path: Path):
    text = "beta: 0.2\n" + "# x\n" * (MAX_BYTES // 4)
    run = run_of(tmp_path, "python train.py --config r.yaml", r__yaml=text)
    assert run.recipe is None and value(run.config.given("beta")) is UNKNOWN
