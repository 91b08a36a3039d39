"""Commands: shell, overrides, flags, and the documents that hold them."""

from __future__ import annotations

from benchmarks.laws import Files, law, lines
from benchmarks.laws.scripts import HEAD, PINS

VERL = "python -m verl.trainer.main_ppo"
_OWN_FLAGS = "openrlhf/cli/train_sft.py"


def shell(body: str, name: str = "run.sh", script: str = HEAD) -> Files:
    return {name: body, "train.py": script, "requirements.txt": f"{PINS}verl==0.4.0\n"}


def launch(number: int) -> str:
    return f"accelerate launch --num_processes {number % 8 + 1} train.py --learning_rate 1e-{number % 9 + 1}"


@law(400)
def launches(count: int) -> Files:
    return shell(lines(count, launch))


@law(400)
def files_with_launches(count: int) -> Files:
    return {**shell(""), **{f"run{i}.sh": launch(i) + "\n" for i in range(count)}}


@law(400)
def launches_with_an_own_config(count: int) -> Files:
    configs = {f"c{i}.yaml": f"compute_environment: LOCAL_MACHINE\nnum_processes: {i + 1}\n" for i in range(count)}
    return {**shell(lines(count, lambda i: f"accelerate launch --config_file c{i}.yaml train.py")), **configs}


@law(400)
def launches_of_a_large_script(count: int) -> Files:
    flags = lines(count, lambda i: f'    parser.add_argument("--flag_{i}", type=int, default={i})')
    program = f"import argparse\n\nif __name__ == '__main__':\n    parser = argparse.ArgumentParser()\n{flags}"
    return {
        _OWN_FLAGS: program,
        "run.sh": lines(count, lambda i: f"deepspeed --module {_MODULE} --flag_{i} 1 --no {i}"),
    }


@law(160)
def commands_and_configs_of_a_script(count: int) -> Files:
    """Each command starts the script that builds all the configs."""
    configs = lines(count, lambda i: f'GRPOConfig(output_dir="o{i}", beta={i}.0, num_generations=8)')
    return shell(lines(count, launch), script=f"{HEAD}from trl import GRPOConfig\n{configs}")


@law(400)
def commands_with_defaults(count: int) -> Files:
    """Each fails with a default of its own, and another file may set all of them."""
    body = lines(
        count, lambda i: f"{VERL} actor_rollout_ref.rollout.mode=${{MODE_{i}:-sink}} trainer.nnodes=${{{i}:-1}}"
    )
    return {**shell(f"#!/bin/bash\n{body}"), "all.sh": "bash run.sh\n" + lines(count, lambda i: f"echo {i}")}


@law(400)
def commands_that_python_starts(count: int) -> Files:
    calls = lines(
        count,
        lambda i: f'c{i} = ["python", "train.py", "--seed", "{i}"]\nc{i}.append(x)\nsubprocess.run(c{i}, env=env)',
    )
    return {**shell(""), "start.py": f"import subprocess\n{calls}"}


@law(400)
def data_of_commands(count: int) -> Files:
    source = 'import datasets\nrows.map(lambda x: {{"data_source": "own/{0}"}}).to_parquet("d{0}/x.parquet")\n'
    body = lines(count, lambda i: f"{VERL} data.train_files=d{i}/x.parquet")
    return {**shell(body), **{f"prepare_{i}.py": source.format(i) for i in range(count)}}


_MODULE = "openrlhf.cli.train_sft"


@law(8)
def nested_loops_of_flags(count: int) -> Files:
    deep = "".join(f'{"    " * i}for a{i} in ("a", "b", "c", "d", "e", "f", "g", "h"):\n' for i in range(count))
    flag = "".join(f"{{a{i}}}." for i in range(count))
    body = f'{deep}{"    " * count}parser.add_argument(f"--{flag}x")\n'
    program = f"import argparse\nparser = argparse.ArgumentParser()\n{body}"
    return {_OWN_FLAGS: program, "run.sh": f"python {_OWN_FLAGS} --x 1\n"}


@law(1600)
def flags_of_a_command(count: int) -> Files:
    return shell(f"python -m {_MODULE} {' '.join(f'--no_such_{i} 1' for i in range(count))}\n")


@law(1600)
def overrides(count: int) -> Files:
    return shell(f"{VERL} {' '.join(f'+a.b{i}=2' for i in range(count))}\n")


@law(400)
def overrides_of_nothing(count: int) -> Files:
    return shell(f"{VERL} {' '.join(f'actor.no{i}=2' for i in range(count))}\n")


@law(1600)
def groups(count: int) -> Files:
    return shell(f"{VERL} {' '.join(f'+g{i}@actor.x{i}=y' for i in range(count))}\n")


@law(1600)
def digits_of_an_override(count: int) -> Files:
    return shell(f"{VERL} data.train_batch_size=1{'_' * (count * 10)}x\n")


@law(400)
def arrays_of_overrides(count: int) -> Files:
    arrays = lines(count, lambda i: f"A{i}=(\n    +a.b{i}=$X\n)")
    words = " ".join(f'"${{A{i}[@]}}"' for i in range(count))
    return shell(f"{arrays}{VERL} {words}\n")


@law(800)
def own_config_of_hydra(count: int) -> Files:
    config = f"a:\n{lines(count, lambda i: f'  k{i}: {i}')}"
    program = "import hydra\n\n\n@hydra.main(config_path='config', config_name='main')\ndef main(config):\n    pass\n"
    command = f"python train.py {' '.join(f'a.k{i}=2 a.no{i}=1' for i in range(count))}\n"
    return {**shell(command, script=program), "config/main.yaml": config}


@law(1600)
def variables(count: int) -> Files:
    return shell(lines(count, lambda i: f"V{i}=$V{i - 1}/{i}") + f"python train.py --output_dir $V{count - 1}\n")


@law(100)
def variables_that_double(count: int) -> Files:
    return shell(lines(count, lambda i: f'V{i + 1}="$V{i}$V{i}"') + f"V0=a python train.py --x $V{count}\n")


@law(400)
def shell_loops(count: int) -> Files:
    return shell(lines(count, lambda i: f"for x in 1 2 3; do\n  python train.py --seed $x --n {i}\ndone"))


@law(12)
def nested_shell_loops(count: int) -> Files:
    begin = "".join(f"for x{i} in 1 2 3 4 5 6 7 8; do\n" for i in range(count))
    return shell(f"{begin}python train.py {' '.join(f'--a{i} $x{i}' for i in range(count))}\n{'done; ' * count}\n")


@law(400)
def shell_ifs(count: int) -> Files:
    return shell(
        lines(count, lambda i: f"if [ $X = {i} ]; then\n  A=--fp16\nelse\n  A=--bf16\nfi\npython train.py $A --n {i}")
    )


@law(400)
def branches_of_variables(count: int) -> Files:
    text = lines(count, lambda i: f'if [ $X = {i} ]; then A{i}="--a{i}"; else A{i}="--b{i}"; fi')
    return shell(f"{text}python train.py {' '.join(f'$A{i}' for i in range(count))}\n")


@law(400)
def cases_of_a_variable(count: int) -> Files:
    body = lines(count, lambda i: f'  m{i}) ARGS="--seed {i}" ;;')
    return shell(f"case $1 in\n{body}esac\npython train.py $ARGS\n")


@law(400)
def here_documents(count: int) -> Files:
    return shell(
        lines(count, lambda i: f"cat <<EOF{i} > c{i}.yaml\nlearning_rate: {i}\nEOF{i}\npython train.py c{i}.yaml")
    )


@law(1600)
def appended_words(count: int) -> Files:
    added = lines(count, lambda i: f'A+=" --x{i} 1"')
    return shell(f"A=''\n{added}python train.py $A\n")


@law(1600)
def appended_arrays(count: int) -> Files:
    added = lines(count, lambda i: f"A+=(--x{i} 1)")
    return shell(f"A=()\n{added}python train.py ${{A[@]}}\n")


@law(1600)
def continued_lines(count: int) -> Files:
    return shell("python train.py" + "".join(f" \\\n  --x{i} {i}" for i in range(count)) + "\n")


@law(400)
def shell_functions(count: int) -> Files:
    return shell(lines(count, lambda i: f"f{i}() {{\n  python train.py --x $1\n  f{i + 1} $1\n}}") + "f0 1\n")


@law(100)
def nested_substitutions(count: int) -> Files:
    return shell(f"X={'$(echo ' * count}1{')' * count}\npython train.py --x $X\n")


@law(3200)
def quoted_words(count: int) -> Files:
    return shell("python train.py " + "\"a\\\" 'b' " * count + "\n")


@law(800)
def directives(count: int) -> Files:
    return shell("#!/bin/bash\n" + lines(count, lambda i: f"#SBATCH --gpus={i % 8 + 1}") + "srun python train.py\n")


@law(400)
def blocks_of_markdown(count: int) -> Files:
    return shell(lines(count, lambda i: f"Then run it:\n\n```bash\n{launch(i)}\n```\n"), "README.md")


@law(3200)
def lines_of_markdown(count: int) -> Files:
    return shell(lines(count, lambda i: f"* `x{i}` [a link](train.py) and **more** of {i}"), "README.md")


@law(400)
def targets_of_make(count: int) -> Files:
    return shell(lines(count, lambda i: f"t{i}:\n\t{launch(i)}\n"), "Makefile")


@law(400)
def steps_of_docker(count: int) -> Files:
    return shell("FROM python:3.11\n" + lines(count, lambda i: f"RUN pip install trl==0.{i % 20}.0"), "Dockerfile")


@law(200)
def jobs_of_a_workflow(count: int) -> Files:
    steps = lines(count, lambda i: f"  j{i}:\n    runs-on: x\n    steps:\n      - run: {launch(i)}")
    return shell(f"on: push\njobs:\n{steps}", ".github/workflows/a.yml")


@law(200)
def candidates(count: int) -> Files:
    files = {f"part{i}/train.py": HEAD + "GRPOConfig(output_dir='o')\n" for i in range(count)}
    return {**files, "scripts/run.sh": "cd $WHERE\n" + lines(count, lambda i: f"python train.py --n {i}")}


@law(400)
def commands_of_verl(count: int) -> Files:
    flags = "trainer.n_gpus_per_node=8 trainer.nnodes=1"
    return shell("export CUDA_VISIBLE_DEVICES=0\n" + lines(count, lambda i: f"{VERL} {flags} data.seed={i}"))


@law(400)
def commands_in_groups(count: int) -> Files:
    command = lines(count, lambda i: f"NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --num_generations 7 --seed {i}")
    return {"run.sh": f"export CUDA_VISIBLE_DEVICES=0\n{command}", "requirements.txt": "ms-swift==3.8.2\n"}


@law(400)
def commands_in_a_container(count: int) -> Files:
    """Each inner command has all the words of the outer one around it."""
    options = " ".join(f"-e A{i}={i}" for i in range(count))
    return shell(f"docker run --gpus 1 {options} image bash -c '{lines(count, launch)}'\n")


@law(1600)
def flags_of_llamafactory(count: int) -> Files:
    flags = " ".join(f"--no_such_{i} 1" for i in range(count))
    return {"run.sh": f"llamafactory-cli train {flags}\n", "requirements.txt": "llamafactory==0.9.3\n"}


@law(400)
def commands_of_llamafactory(count: int) -> Files:
    command = lines(count, lambda i: f"llamafactory-cli train --no_such 1 --seed {i}")
    return {"run.sh": command, "requirements.txt": "llamafactory==0.9.3\n"}


AXOLOTL = """base_model: m
datasets: [{path: d, type: alpaca}]
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
adapter: qlora
save_steps: 10
saves_per_epoch: 2
"""


def axolotl(files: Files, run: str) -> Files:
    return {**files, "run.sh": run, "requirements.txt": "axolotl>=0.8\n"}


@law(200)
def configs_of_one_command_of_axolotl(count: int) -> Files:
    names = [f"c{i}.yml" for i in range(count)]
    return axolotl(dict.fromkeys(names, AXOLOTL), f"axolotl train {' '.join(names)}\n")


@law(400)
def commands_of_one_config_of_axolotl(count: int) -> Files:
    return axolotl({"c.yml": AXOLOTL}, lines(count, lambda i: f"axolotl train c.yml --seed {i}"))


@law(1600)
def keys_of_a_config_of_axolotl(count: int) -> Files:
    return axolotl({"c.yml": AXOLOTL + lines(count, lambda i: f"k{i}: {{a: [1, {i}]}}")}, "axolotl train c.yml\n")


@law(1600)
def flags_of_swift(count: int) -> Files:
    flags = " ".join(f"--torch_dtype half --no_such_{i} 1" for i in range(count))
    return {"run.sh": f"swift sft {flags}\n", "requirements.txt": "ms-swift==3.8.2\n"}


@law(400)
def steps_that_deepspeed_clips(count: int) -> Files:
    steps = lines(
        count,
        lambda i: f"    accelerator.backward(loss_{i})\n    accelerator.clip_grad_norm_(model.parameters(), 1.0)",
    )
    loop = f"\n\ndef step(model, loss, advantages, ratio, log_probs, kl, rewards, old_log_probs):\n{steps}"
    config = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nnum_processes: 2\n"
    commands = lines(count, lambda i: f"accelerate launch --config_file a.yaml train.py --seed {i}")
    return {**shell(commands, script=HEAD + loop), "a.yaml": config}


@law(400)
def files_with_defaults(count: int) -> Files:
    """Each may be started by any other, which may set what it leaves open."""
    job = "#!/bin/bash\n#SBATCH --gres=gpu:4\ntorchrun --nproc_per_node=${NGPU:-8} train.py\n"
    return {**shell(""), **{f"run{i}.sh": job for i in range(count)}}


@law(400)
def commands_of_openrlhf_in_groups(count: int) -> Files:
    flags = "--pretrain a --prompt_data b --reward_pretrain c --colocate_all_models --actor_num_gpus_per_node 4"
    command = lines(count, lambda i: f"python -m openrlhf.cli.train_ppo_ray {flags} --seed {i}")
    return {"run.sh": f"export CUDA_VISIBLE_DEVICES=0\n{command}", "requirements.txt": "openrlhf==0.8.5\n"}


@law(60_000)
def brackets_that_close_nothing(count: int) -> Files:
    return shell(f"{launch(1)}\n{')' * count}\n")


@law(4000)
def lines_of_broken_shell(count: int) -> Files:
    return shell(lines(count, lambda i: f"{'fi )' if i % 2 else '{{ a }} | | b'} {i}") + launch(1) + "\n")


@law(1600)
def branches_with_names_of_their_own(count: int) -> Files:
    cases = lines(count, lambda i: f"a{i}) X{i}=$OPTARG;;")
    return shell(f'while getopts "a:b:" o; do case $o in\n{cases}esac; done\n{launch(1)}\n')


@law(1600)
def tasks_of_a_project(count: int) -> Files:
    tasks = lines(count, lambda i: f"t{i} = ['t{i + 1}']")
    return {"pyproject.toml": f"[tool.poe.tasks]\ntrain = '{launch(1)}'\n{tasks}", "train.py": HEAD}
