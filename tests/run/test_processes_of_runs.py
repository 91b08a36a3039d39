"""How many processes a run has, on how many machines, by role: for every launcher and framework, in each notation."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run, all_runs
from trl_lint.settings import Settings

VERL = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm"
OPENRLHF = "python3 -m openrlhf.cli.train_ppo_ray --pretrain a/b --prompt_data c/d --reward_pretrain e/f"
SWIFT = "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --dataset a/b"
FACTORY = "llamafactory-cli train cfg.yaml"
PINS = "trl==0.24.0\nverl=={verl}\nopenrlhf=={openrlhf}\naxolotl==0.12.2\nllamafactory==0.9.3\nms-swift==3.9.0\n"
AXOLOTL = "base_model: a/b\nmicro_batch_size: 1\nsequence_len: 2048\nnum_epochs: 1\ndatasets: []\n"
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 16\n"
SCRIPT = "from transformers import Trainer\n"


def run_in(folder: Path, command: str, verl: str = "0.6.1", openrlhf: str = "0.8.5") -> Run:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "run.sh").write_text(command + "\n")
    (folder / "requirements.txt").write_text(PINS.format(verl=verl, openrlhf=openrlhf))
    (folder / "cfg.yaml").write_text(AXOLOTL)
    (folder / "acc.yaml").write_text(ACCELERATE)
    (folder / "train.py").write_text(SCRIPT)
    (folder / "driver.py").write_text("import ray\nray.init()\n")
    project = Project(str(folder), check([], Settings()).files, Settings())
    return next(run for run in all_runs(project) if run.launch.source.path.endswith("run.sh"))


def number(said: Setting | Missing) -> int | None:
    return said.integer if isinstance(said, Setting) else None


@pytest.mark.parametrize(
    ("command", "processes", "nodes"),
    [
        # torchrun, accelerate, deepspeed, python
        ("torchrun --nproc_per_node 4 train.py", 4, 1),
        ("torchrun --nproc-per-node=4 --nnodes=2 train.py", 8, 2),
        ("torchrun --nproc_per_node 4 --nnodes 1:4 train.py", None, None),
        ("torchrun --nproc_per_node gpu train.py", None, 1),
        ("accelerate launch --num_processes 4 train.py", 4, 1),
        ("accelerate launch --num_processes 8 --num_machines 2 train.py", 8, 2),
        ("accelerate launch --config_file acc.yaml train.py", 16, 2),
        ("accelerate launch --config_file acc.yaml --num_processes 4 train.py", 4, 2),
        ("accelerate launch --num_processes $N train.py", None, 1),
        ("accelerate launch train.py", None, 1),
        ("deepspeed --num_gpus 4 train.py", 4, 1),
        ("deepspeed --num_gpus 4 --num_nodes 2 train.py", None, 2),
        ("deepspeed --hostfile hosts train.py", None, None),
        ("deepspeed --include localhost:0,1 train.py", 2, 1),
        ("python train.py", 1, 1),
        ("python driver.py", None, 1),
        ("mpirun -n 4 python train.py", None, 1),
        # trl
        ("trl grpo --num_processes 4 --model_name_or_path a/b", 4, 1),
        ("trl grpo --num_processes 8 --num_machines 2 --model_name_or_path a/b", 8, 2),
        ("trl sft --accelerate_config acc.yaml --model_name_or_path a/b", 16, 2),
        ("trl sft --model_name_or_path a/b", None, 1),
        # the variables of ms-swift and LLaMA-Factory
        (f"NPROC_PER_NODE=4 {SWIFT}", 4, 1),
        (f"NPROC_PER_NODE=4 NNODES=2 {SWIFT}", 8, 2),
        (f"export NPROC_PER_NODE=4\n{SWIFT}", 4, 1),
        (f"env NPROC_PER_NODE=4 NNODES=2 {SWIFT}", 8, 2),
        (f"NPROC_PER_NODE=$N {SWIFT}", None, 1),
        (f"NPROC_PER_NODE=4 NNODES=$SLURM_NNODES {SWIFT}", None, None),
        (f"FORCE_TORCHRUN=1 NPROC_PER_NODE=4 {FACTORY}", 4, 1),
        (f"export FORCE_TORCHRUN=1 NPROC_PER_NODE=2 NNODES=4\n{FACTORY}", 8, 4),
        (f"CUDA_VISIBLE_DEVICES=3 {FACTORY}", 1, 1),
        (f"FORCE_TORCHRUN=1 CUDA_VISIBLE_DEVICES=0,1,2 {FACTORY}", 3, 1),
        # the launcher that axolotl calls
        ("axolotl train cfg.yaml", None, 1),
        ("axolotl train cfg.yaml --num-processes 4", 4, 1),
        ("axolotl train cfg.yaml --no-accelerate", 1, 1),
        ("axolotl train cfg.yaml --launcher python", 1, 1),
        ("axolotl train cfg.yaml --launcher=torchrun -- --nproc_per_node=4", 4, 1),
        ("axolotl train cfg.yaml --launcher torchrun -- --nproc-per-node 4 --nnodes 2", 8, 2),
        ("axolotl train cfg.yaml -- --num_processes 4 --num_machines=2", 4, 2),
        ("axolotl train cfg.yaml --num-processes 2 -- --num_processes 4", 4, 1),
        ("axolotl train cfg.yaml --launcher $L -- --num_processes 4", None, 1),
        ("axolotl train cfg.yaml --use-ray --num-processes 4", None, 1),
        ("axolotl train cfg.yaml --cloud c.yaml --num-processes 4", None, 1),
        ("accelerate launch --num_processes 4 -m axolotl.cli.train cfg.yaml", 4, 1),
        # what Ray starts
        (f"{VERL} trainer.n_gpus_per_node=4", 4, 1),
        (f"{VERL} trainer.n_gpus_per_node=4 trainer.nnodes=2", 8, 2),
        (VERL, 8, 1),
        (f"{VERL} trainer.n_gpus_per_node=$N", None, 1),
        (f"N=2\n{VERL} trainer.n_gpus_per_node=$N", 2, 1),
        (f"{VERL} trainer=mine", None, None),
        ("python -m verl.experimental.fully_async_policy.fully_async_main trainer.n_gpus_per_node=4", None, 1),
        ("torchrun --nproc_per_node=2 -m verl.trainer.fsdp_sft_trainer trainer.n_gpus_per_node=8", 2, 1),
        (f"{OPENRLHF} --actor_num_gpus_per_node 4", 4, 1),
        (f"{OPENRLHF} --actor_num_gpus_per_node 4 --actor_num_nodes 2", 8, 2),
        (f"ray job submit -- {OPENRLHF} --actor_num_gpus_per_node 4", 4, 1),
        (f"{OPENRLHF} --actor_num_gpus_per_node $N", None, 1),
        (f'{OPENRLHF} --actor_num_gpus_per_node "$N"', None, 1),
        ("deepspeed --num_gpus 2 --module openrlhf.cli.train_sft --pretrain a/b --dataset c/d", 2, 1),
    ],
)
def test_processes_and_machines(tmp_path: Path, command: str, processes: int | None, nodes: int | None):
    run = run_in(tmp_path, command)
    assert (number(run.processes), number(run.nodes)) == (processes, nodes)


ACTOR = "--actor_num_nodes 1 --actor_num_gpus_per_node 2 --ref_num_nodes 1 --ref_num_gpus_per_node 4"
OTHERS = "--critic_num_gpus_per_node 1 --reward_num_gpus_per_node 3 --vllm_num_engines 2 --vllm_tensor_parallel_size 2"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (VERL, [("trainer", 8, "trainer"), ("engine", 8, "trainer")]),
        (f"{VERL} reward_model.enable_resource_pool=True reward_model.n_gpus_per_node=2 reward_model.nnodes=1",
         [("trainer", 8, "trainer"), ("engine", 8, "trainer"), ("reward", 2, "reward")]),
        (f"{VERL} reward_model.enable_resource_pool=$P",
         [("trainer", 8, "trainer"), ("engine", 8, "trainer"), ("reward", None, "reward")]),
        (f"{OPENRLHF} {ACTOR} {OTHERS}",
         [("trainer", 2, "trainer"), ("reference", 4, "reference"), ("engine", 4, "engine"), ("critic", 1, "critic"),
          ("reward", 3, "reward")]),
        (f"{OPENRLHF} {ACTOR} {OTHERS} --colocate_actor_ref --colocate_critic_reward",
         [("trainer", 2, "trainer"), ("reference", 4, "trainer"), ("engine", 4, "engine"), ("critic", 1, "critic"),
          ("reward", 3, "critic")]),
        (f"{OPENRLHF} {ACTOR} {OTHERS} --colocate_all_models",
         [("trainer", 2, "trainer"), ("reference", 4, "trainer"), ("engine", 4, "trainer"), ("critic", 1, "trainer"),
          ("reward", 3, "trainer")]),
        (f"{OPENRLHF} {ACTOR} {OTHERS} --colocate_all_models --async_train",
         [("trainer", 2, "trainer"), ("reference", 4, "trainer"), ("engine", 4, "engine"), ("critic", 1, "trainer"),
          ("reward", 3, "trainer")]),
        (f"{OPENRLHF} {ACTOR} {OTHERS} --advantage_estimator rloo --init_kl_coef 0 --remote_rm_url http://a",
         [("trainer", 2, "trainer"), ("engine", 4, "engine")]),
        (f"{OPENRLHF} {ACTOR} {OTHERS} --init_kl_coef $KL", [("trainer", 2, "trainer"), ("engine", None, "engine")]),
        ("torchrun --nproc_per_node 4 train.py", [("trainer", 4, "trainer")]),
    ],
)  # fmt: skip
def test_what_the_processes_do(tmp_path: Path, command: str, expected: list[tuple[str, int | None, str]]):
    run = run_in(tmp_path, command)
    assert [(one.role, one.total, one.pool) for one in run.workers] == expected


@pytest.mark.parametrize(
    ("command", "method", "kind"),
    [
        (SWIFT, "grpo", "rl"),
        ("swift rlhf --rlhf_type dpo --model a/b --dataset c/d", "dpo", "preference"),
        ("swift sft --model a/b --dataset c/d", "sft", "other"),
        ("swift rlhf --rlhf_type $M --model a/b --dataset c/d", "", "other"),
        ("trl grpo --model_name_or_path a/b", "grpo", "rl"),
        ("trl dpo --model_name_or_path a/b", "dpo", "preference"),
        ("axolotl train cfg.yaml --rl grpo", "grpo", "rl"),
        ("axolotl train cfg.yaml", "", "other"),
        (f"{FACTORY} stage=dpo", "dpo", "preference"),
        (VERL, "grpo", "rl"),
        (VERL.replace("=grpo", "=$A"), "", "rl"),
        (OPENRLHF, "gae", "rl"),
        (f"{OPENRLHF} --advantage_estimator rloo", "rloo", "rl"),
        ("deepspeed --module openrlhf.cli.train_dpo --pretrain a/b --dataset c/d", "dpo", "preference"),
        ("python train.py", "", "other"),
        ("trl vllm-serve --model a/b", "", "other"),
        ("swift infer --model a/b", "", "other"),
    ],
)
def test_the_method(tmp_path: Path, command: str, method: str, kind: str):
    run = run_in(tmp_path, command)
    assert (run.method, run.kind) == (method, kind)


TRL_GRPO = "trl grpo --model_name_or_path a/b --per_device_train_batch_size 2 --gradient_accumulation_steps 4"
MINI = "actor_rollout_ref.actor.ppo_mini_batch_size=64"


@pytest.mark.parametrize(
    ("command", "samples"),
    [
        (f"{TRL_GRPO} --num_processes 4", 32),
        (TRL_GRPO, None),  # the processes are not known
        ("trl sft --model_name_or_path a/b --num_processes 2", 16),  # 8 to a process by default
        ("trl sft --model_name_or_path a/b --num_processes 2 --per_device_train_batch_size $B", None),
        (f"NPROC_PER_NODE=4 {SWIFT} --per_device_train_batch_size 2 --gradient_accumulation_steps 3", 24),
        (f"NPROC_PER_NODE=4 {SWIFT}", 4),  # one step for GRPO since ms-swift 3.7
        ("NPROC_PER_NODE=3 swift sft --model a/b --dataset c/d", 18),  # up to 16 or more
        ("NPROC_PER_NODE=4 swift sft --model a/b --dataset c/d --per_device_train_batch_size 8", 32),
        (f"NPROC_PER_NODE=4 {SWIFT} --sequence_parallel_size 2", None),
        ("axolotl train cfg.yaml --gradient-accumulation-steps 4 --num-processes 2", 8),
        ("axolotl train cfg.yaml --gradient-accumulation-steps 4", None),
        ("axolotl train cfg.yaml --gradient-accumulation-steps 4 --num-processes 2 --batch-size 4", None),
        ("axolotl train cfg.yaml --gradient-accumulation-steps 4 --num-processes 2 --context-parallel-size 2", None),
        (f"{VERL} {MINI} actor_rollout_ref.rollout.n=8", 512),
        (f"{VERL} {MINI}", 64),
        (f"{VERL} {MINI} actor_rollout_ref.rollout.n=$N", None),
        (f"{OPENRLHF} --train_batch_size 96", 96),
        (OPENRLHF, 128),
        ("python train.py", None),
    ],
)
def test_what_is_trained_on_between_two_updates(tmp_path: Path, command: str, samples: int | None):
    batch = run_in(tmp_path, command).batch
    assert (batch.samples if batch is not None else None) == samples
