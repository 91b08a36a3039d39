"""What trainers, servers and commands are given: models, adapters, optimizers, typed values, names that are gone."""

from __future__ import annotations

from benchmarks.laws import Files, law, lines

_PINS = "trl==0.29.1\ntransformers==4.57.6\naccelerate==1.13.0\nbitsandbytes==0.49.1\nvllm==0.10.2\n"
_FSDP2 = """distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_state_dict_type: FULL_STATE_DICT
num_machines: 1
num_processes: 8
"""
_IMPORTS = """from datasets import load_dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

data = load_dataset("trl-lib/Capybara", split="train")
"""


def sharded(script: str, commands: str) -> Files:
    return {"train.py": _IMPORTS + script, "run.sh": commands, "fsdp.yaml": _FSDP2, "requirements.txt": _PINS}


@law(200)
def sharded_runs_of_a_script(count: int) -> Files:
    """TRL119 and TRL122 look at each."""
    trainer = (
        'args = SFTConfig(output_dir="out", optim="adamw_bnb_8bit")\n'
        'SFTTrainer("Qwen/Qwen3-8B", args=args, train_dataset=data, peft_config=LoraConfig()).train()\n'
    )
    return sharded(trainer, lines(count, lambda i: f"accelerate launch --config_file fsdp.yaml train.py --seed {i}"))


@law(200)
def sharded_scripts(count: int) -> Files:
    script = 'SFTTrainer("Qwen/Qwen3-8B", args=SFTConfig(output_dir="out", optim="lion_8bit"), train_dataset=data)\n'
    files = {f"train{i}.py": _IMPORTS + script for i in range(count)}
    commands = lines(count, lambda i: f"accelerate launch --config_file fsdp.yaml train{i}.py")
    return {**files, **sharded("", commands)}


@law(100)
def trainers_with_images(count: int) -> Files:
    """TRL735 looks for all that may make them smaller."""
    mapped = 'data = data.map(lambda row: {"prompt": [{"role": "user", "content": [{"type": "image"}]}]})\n'
    trainer = (
        "args{0} = GRPOConfig(output_dir='out')\n"
        "GRPOTrainer(model='Qwen/Qwen2.5-VL-3B-Instruct', reward_funcs=len, args=args{0}, train_dataset=data).train()"
    )
    files = sharded(mapped + lines(count, trainer.format), "python train.py\n")
    return {**files, "requirements.txt": "trl==0.24.0\ntransformers==4.56.2\n"}


@law(1600)
def servers_beside_a_trainer(count: int) -> Files:
    """TRL807 and TRL808 look at the model and at the heads of each."""
    trainer = (
        'args = GRPOConfig(output_dir="out", use_vllm=True, vllm_mode="server")\n'
        'GRPOTrainer(model="Qwen/Qwen2.5-7B-Instruct", reward_funcs=len, args=args, train_dataset=data).train()\n'
    )
    serve = "trl vllm-serve --model Qwen/Qwen2.5-0.5B-Instruct --tensor-parallel-size 4 --port {0} &"
    return sharded(trainer, lines(count, serve.format) + "accelerate launch train.py\n")


@law(400)
def changes_of_a_config(count: int) -> Files:
    changes = lines(count, lambda i: f"if data:\n    vars(args)['num_generations'] = {i + 2}")
    return sharded(f"args = GRPOConfig(output_dir='out', num_generations=1)\n{changes}", "python train.py\n")


@law(400)
def conditions_of_trainers(count: int) -> Files:
    """Each is asked what its trainer refuses of it."""
    trainer = "SFTTrainer('gpt2', args=SFTConfig(output_dir='o', max_length={0}, packing=True), train_dataset=data)"
    return sharded(lines(count, trainer.format), "python train.py\n")


@law(1600)
def typed_keys_of_axolotl(count: int) -> Files:
    keys = lines(count, lambda i: f"  - {{path: d{i}, type: alpaca, shards: three}}")
    config = f"base_model: m\nsequence_len: long\nmicro_batch_size: 2.5\ndatasets:\n{keys}"
    return {"c.yml": config, "run.sh": "axolotl train c.yml\n", "requirements.txt": "axolotl==0.10.0\n"}


@law(400)
def commands_of_swift(count: int) -> Files:
    command = "swift sft --model m --lora_rank eight --torch_dtype half --learning_rate 1e-4 --seed {0}"
    return {"run.sh": lines(count, command.format), "requirements.txt": "ms-swift==3.8.2\n"}


@law(400)
def data_sets_of_llamafactory(count: int) -> Files:
    index = ",\n".join(f'"d{i}": {{"file_name": "d{i}.json"}}' for i in range(count))
    names = ",".join(f"e{i}" for i in range(count))
    config = f"model_name_or_path: m\nstage: sft\ndo_train: true\ndataset: {names}\ntemplate: qwen\noutput_dir: o\n"
    return {
        "c.yaml": config,
        "data/dataset_info.json": f"{{{index}}}",
        "run.sh": "llamafactory-cli train c.yaml\n",
        "requirements.txt": "llamafactory==0.9.3\n",
    }


@law(80, "--no-cache", "-j1", "--quiet", "--diff", "--unsafe-fixes", ".")
def renamed_keys_of_recipes(count: int) -> Files:
    commands = lines(count, lambda i: f"accelerate launch train.py --config r{i}.yaml")
    script = """from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser

parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig))
script_args, training_args, model_args = parser.parse_args_and_config()
SFTTrainer(model=model_args.model_name_or_path, args=training_args).train()
"""
    recipe = "model_name_or_path: m\ndataset_name: d\noutput_dir: out\nmax_seq_length: 8\nwarmup_ratio: 0.1\n"
    pins = {"requirements.txt": "trl==1.16.0\ntransformers==5.23.0\n"}
    return {**{f"r{i}.yaml": recipe for i in range(count)}, "run.sh": commands, "train.py": script, **pins}


@law(160, "--no-cache", "-j1", "--quiet", "--diff", "--unsafe-fixes", ".")
def renamed_flags_of_openrlhf(count: int) -> Files:
    command = "deepspeed --module openrlhf.cli.train_sft --pretrain m --max_len 8 --flash_attn --seed {0}"
    return {"run.sh": lines(count, command.format), "requirements.txt": "openrlhf==0.11.2\n"}


_RENAMED = "from transformers import AutoModelForVision2Seq\n\nprint(AutoModelForVision2Seq)\n"


@law(400)
def renamed_classes_in_files(count: int) -> Files:
    """TRL302 asks whether another module imports the name from there."""
    return {**{f"m{i}.py": _RENAMED for i in range(count)}, "requirements.txt": "transformers==5.1.0\n"}


@law(1600, "--no-cache", "-j1", "--quiet", "--diff", "--unsafe-fixes", ".")
def uses_of_a_renamed_class(count: int) -> Files:
    uses = lines(count, lambda i: f"x{i} = AutoModelForVision2Seq")
    return {"train.py": _RENAMED + uses, "requirements.txt": "transformers==5.1.0\n"}


@law(1600)
def attributes_of_a_wrapped_model(count: int) -> Files:
    """TRL123 looks at what a loss takes of its model, once for all."""
    taken = lines(count, lambda i: f"        loss = loss + model.config.field_{i}")
    script = (
        "from transformers import Trainer\n\n\nclass Own(Trainer):\n"
        f"    def compute_loss(self, model, inputs):\n        loss = 0\n{taken}        return loss\n\n\n"
        "Own(model).train()\n"
    )
    return {"train.py": script, "run.sh": "torchrun --nproc_per_node 4 train.py\n", "requirements.txt": _PINS}


@law(200)
def trainers_with_collators(count: int) -> Files:
    """TRL727 asks each for the tokenizer of its collator."""
    head = (
        "from transformers import AutoTokenizer, DataCollatorForLanguageModeling, Trainer\n\n"
        'tokenizer = AutoTokenizer.from_pretrained("m")\ntokenizer.pad_token = tokenizer.eos_token\n'
        "rows = [row + tokenizer.eos_token for row in texts]\n"
    )
    made = lines(
        count, lambda i: f"Trainer(model, data_collator=DataCollatorForLanguageModeling(tokenizer, False, {i}))"
    )
    return {"train.py": head + made, "requirements.txt": _PINS}


@law(400)
def gathered_objects_in_a_function(count: int) -> Files:
    """TRL125 follows what each call received, past the uses of all the others."""
    head = (
        "import torch\nimport torch.distributed as dist\n\n\ndef evaluate(rank, out):\n"
        '    t = torch.zeros(4, device=f"cuda:{rank}")\n'
    )
    calls = lines(
        count,
        lambda i: (
            f"    got{i} = list(out)\n    dist.all_gather_object(got{i}, t)\n"
            f"    part{i} = [one[0] for one in got{i}]\n    torch.cat(part{i})\n    print(got0)"
        ),
    )
    return {"train.py": head + calls, "run.sh": "torchrun --nproc_per_node 4 train.py\n", "requirements.txt": _PINS}


@law(400)
def gathered_names_made_of_each_other(count: int) -> Files:
    """TRL124 follows each to the call of `generate` that all come from."""
    head = (
        "from accelerate import Accelerator\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        'tokenizer = AutoTokenizer.from_pretrained("m")\nmodel = AutoModelForCausalLM.from_pretrained("m")\n'
        "accelerator = Accelerator()\nmodel = accelerator.prepare(model)\n\n\ndef evaluate(batch):\n"
        "    out0 = accelerator.unwrap_model(model).generate(**batch, max_new_tokens=256)\n"
    )
    made = lines(
        count,
        lambda i: (
            f"    out{i + 1} = out{i}\n    if late:\n        out{i + 1} = out{i}[:, 1:]\n"
            f"    accelerator.gather(out{i + 1})"
        ),
    )
    return {"train.py": head + made, "requirements.txt": _PINS}


@law(400)
def data_files_that_a_config_lists(count: int) -> Files:
    """The first rows of each are read for TRL402."""
    listed = lines(count, lambda i: f"  - path: data/d{i}.jsonl\n    split: train\n    type: chatml.intel")
    config = f"base_model: m\nrl: dpo\ndatasets:\n{listed}output_dir: out\nsequence_len: 4096\nmicro_batch_size: 2\n"
    rows = {f"data/d{i}.jsonl": '{"system": "s", "input": "q", "chosen": "a"}\n' for i in range(count)}
    return {"dpo.yml": config, "requirements.txt": "axolotl==0.12.2\n", **rows}


@law(400)
def servers_with_flags(count: int) -> Files:
    """TRL401 and TRL402 look each flag up in the release."""
    command = "vllm serve Qwen/Qwen3-8B --max-model-len 4096 --no-such-flag 1 --dtype half --port {}"
    return {"serve.sh": lines(count, lambda i: command.format(8000 + i)), "requirements.txt": "vllm==0.15.0\n"}


@law(300)
def runs_of_a_script_with_engines(count: int) -> Files:
    """TRL503 holds the ranks of the engines against the GPUs of each run."""
    engines = lines(count, lambda i: f'llm{i} = LLM("m", tensor_parallel_size={i % 8 + 1})')
    commands = lines(count, lambda i: f"CUDA_VISIBLE_DEVICES=0,1 python generate.py --number {i}")
    return {
        "generate.py": f"from vllm import LLM\n\n{engines}",
        "run.sh": commands,
        "requirements.txt": "vllm==0.15.0\n",
    }


@law(80)
def runs_with_a_scheduler(count: int) -> Files:
    """TRL404 asks the trainers of a script for a reference model in each run that has a scheduler of DeepSpeed."""
    script = "from trl import DPOConfig, DPOTrainer\n\nargs = DPOConfig(output_dir='out')\n" + lines(
        count, lambda i: f"DPOTrainer('m{i}', args=args, train_dataset=rows)"
    )
    config = (
        '{"optimizer": {"type": "AdamW"}, "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}}, '
        '"zero_optimization": {"stage": 3}}'
    )
    commands = lines(count, lambda i: f"deepspeed --num_gpus 4 train.py --deepspeed ds.json --seed {i}")
    return {"train.py": script, "ds.json": config, "run.sh": commands, "requirements.txt": "trl==0.15.0\n"}
