"""What each rule asks for. Written by `python -m trl_lint.checks.registry --write`, never by hand."""

# ruff: noqa
from typing import Any

DECLARED: dict[str, dict[str, Any]] = {
    'trl_lint.checks.algorithm.batch_not_divisible_by_generations': {'code': 'TRL701', 'runs': True},
    'trl_lint.checks.configs.contradiction_between_files': {'code': 'TRL404', 'runs': True},
    'trl_lint.checks.configs.contradiction_in_file': {'code': 'TRL403', 'documents': ('accelerate', 'deepspeed', 'trl-recipe', 'axolotl', 'llamafactory', 'verl'), 'launches': True},
    'trl_lint.checks.configs.unknown_key': {'code': 'TRL401', 'documents': ('accelerate', 'deepspeed'), 'launches': True},
    'trl_lint.checks.configs.value_not_allowed': {'code': 'TRL402', 'documents': ('accelerate', 'deepspeed'), 'launches': True, 'runs': True},
    'trl_lint.checks.configs.yaml_scalar_trap': {'code': 'TRL405', 'documents': ('accelerate', 'trl-recipe')},
    'trl_lint.checks.distribution.data_parallel_without_device_ids': {'code': 'TRL102', 'triggers': ('torch.nn.DataParallel',)},
    'trl_lint.checks.distribution.reference_model_evaluation_mode': {'code': 'TRL101', 'triggers': ('.prepare_model', '(evaluation_mode=)'), 'needles': (b'prepare_model',)},
    'trl_lint.checks.distribution.tensor_without_device': {'code': 'TRL103', 'triggers': ('torch.BoolTensor', 'torch.FloatTensor', 'torch.IntTensor', 'torch.LongTensor', 'torch.arange', 'torch.as_tensor', 'torch.empty', 'torch.eye', 'torch.full', 'torch.linspace', 'torch.ones', 'torch.rand', 'torch.randint', 'torch.randn', 'torch.randperm', 'torch.tensor', 'torch.tril_indices', 'torch.triu_indices', 'torch.zeros'), 'needles': (b'torch.BoolTensor(', b'torch.FloatTensor(', b'torch.IntTensor(', b'torch.LongTensor(', b'torch.arange(', b'torch.as_tensor(', b'torch.empty(', b'torch.eye(', b'torch.full(', b'torch.linspace(', b'torch.ones(', b'torch.rand(', b'torch.randint(', b'torch.randn(', b'torch.randperm(', b'torch.tensor(', b'torch.tril_indices(', b'torch.triu_indices(', b'torch.zeros(')},
    'trl_lint.checks.drift.argument_not_in_release': {'code': 'TRL301', 'imports': ('trl', 'transformers', 'accelerate', 'peft', 'deepspeed', 'vllm', 'openrlhf', 'verl'), 'documents': ('trl-recipe', 'other'), 'launches': True},
    'trl_lint.checks.drift.default_changed': {'code': 'TRL304', 'imports': ('trl', 'transformers'), 'documents': ('trl-recipe',), 'launches': True},
    'trl_lint.checks.drift.deprecated_in_release': {'code': 'TRL303', 'imports': ('trl', 'transformers', 'accelerate', 'peft', 'deepspeed', 'vllm', 'openrlhf', 'verl')},
    'trl_lint.checks.drift.name_not_in_release': {'code': 'TRL302', 'imports': ('trl', 'transformers', 'accelerate', 'peft', 'deepspeed', 'vllm', 'openrlhf', 'verl')},
    'trl_lint.checks.drift.outdated_override': {'code': 'TRL305', 'imports': ('trl', 'transformers')},
    'trl_lint.checks.inference.option_of_the_other_mode': {'code': 'TRL802', 'runs': True},
    'trl_lint.checks.inference.tensor_parallel_size_misfit': {'code': 'TRL803', 'runs': True},
    'trl_lint.checks.inference.vllm_mode_implicit': {'code': 'TRL801', 'runs': True},
    'trl_lint.checks.launch.flags_dropped': {'code': 'TRL505', 'launches': True},
    'trl_lint.checks.launch.linked_file_missing': {'code': 'TRL504', 'documents': ('accelerate', 'axolotl', 'llamafactory', 'trl-recipe'), 'launches': True},
    'trl_lint.checks.launch.more_ranks_than_gpus': {'code': 'TRL503', 'runs': True},
    'trl_lint.checks.launch.plain_python_on_several_gpus': {'code': 'TRL501', 'launches': True},
    'trl_lint.checks.launch.server_and_trainer_share_gpu': {'code': 'TRL502', 'runs': True},
    'trl_lint.checks.launch.stale_environment_variable': {'code': 'TRL506', 'needles': (b'CUDA_VIS', b'NCCL_ASYNC_ERROR_HANDLING', b'NCCL_BLOCKING_WAIT', b'PYTORCH_CUDA_A', b'TRANSFORMERS_CACHE', b'VLLM_ATTENTION_BACKEND', b'VLLM_USE_V1'), 'imports': ('os',), 'documents': ('trl-recipe',), 'launches': True, 'manifests': True},
    'trl_lint.checks.launch.variable_never_set': {'code': 'TRL507', 'launches': True},
    'trl_lint.checks.numerics.fp16_for_rl': {'code': 'TRL602', 'triggers': ('(fp16=)',), 'needles': (b'fp16=', b'fp16 ='), 'documents': ('trl-recipe', 'llamafactory', 'deepspeed'), 'launches': True},
    'trl_lint.checks.numerics.gradient_clipping_off': {'code': 'TRL601', 'triggers': ('(max_grad_norm=)', '.backward', 'deepspeed.initialize'), 'needles': (b'max_grad_norm=', b'max_grad_norm =', b'.backward(', b'deepspeed.initialize'), 'documents': ('trl-recipe', 'llamafactory', 'axolotl', 'deepspeed'), 'launches': True},
    'trl_lint.checks.pins.known_bad_release': {'code': 'TRL201', 'manifests': True},
    'trl_lint.checks.pins.outside_supported_range': {'code': 'TRL202', 'manifests': True},
    'trl_lint.checks.pins.unpinned_package': {'code': 'TRL203', 'manifests': True},
    'trl_lint.checks.pins.unsatisfiable_pins': {'code': 'TRL204', 'manifests': True},
}
