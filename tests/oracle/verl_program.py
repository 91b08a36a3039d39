"""verl's own checks of a composed config, in the order of `verl.trainer.main_ppo`: see `config_probe.py`."""

import contextlib
import importlib
import inspect
import os
import pickle
from unittest.mock import patch


def open_program(module: str) -> "tuple[dict[str, list[object]], object]":
    """The settings with their defaults, and what runs the checks with some of them changed."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    folder = os.path.join(os.path.dirname(importlib.import_module("verl").__file__), "trainer", "config")
    with initialize_config_dir(folder, version_base=None):
        base = compose("ppo_trainer")
    OmegaConf.set_struct(base, False)
    written = pickle.dumps(base)  # read again much faster than it is copied

    def run(**values: object) -> None:
        config = pickle.loads(written)
        for key, value in values.items():
            OmegaConf.update(config, key, value)
        _check(config)

    return dict(_settings("", base)), run


def _settings(path: str, config: object) -> "list[tuple[str, list[object]]]":
    from omegaconf import DictConfig, OmegaConf

    found = []
    for name in config:
        key = f"{path}.{name}".lstrip(".")
        if OmegaConf.is_missing(config, name) or OmegaConf.is_interpolation(config, name):
            found.append((key, [None, "NoneType"]))
        elif isinstance(config[name], DictConfig):
            found += _settings(key, config[name])
        elif isinstance(config[name], (str, int, float, bool)) or config[name] is None:
            found.append((key, [config[name], type(config[name]).__name__]))
    return found


def _check(config: object) -> None:
    from verl.trainer.ppo import ray_trainer

    role = ray_trainer.Role
    roles = {role.ActorRollout: None, role.Critic: None}
    if config.algorithm.get("use_kl_in_reward", True) or config.actor_rollout_ref.actor.use_kl_loss:
        roles[role.RefPolicy] = None  # as main_ppo.py does; 0.2 always does, and has no `use_kl_in_reward`
    trainer = ray_trainer.RayPPOTrainer
    given = dict.fromkeys(inspect.signature(trainer.__init__).parameters.keys() - {"self"})
    given |= {"config": config, "role_worker_mapping": roles}
    if not hasattr(trainer, "_validate_config"):
        _validate(config, roles)
    if config.trainer.get("use_v1"):
        return  # another trainer is made, which looks at nothing before it has what it needs
    with patch.object(trainer, "_create_dataloader", lambda *args, **named: None):
        trainer(**given)


def _validate(config: object, roles: "dict[object, object]") -> None:
    """`validate_config`, and what the workers make of the blocks afterwards (all but the model: it is loaded)."""
    from verl.trainer.ppo import utils
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    with contextlib.suppress(ImportError):  # the class loads the model, which is not there
        importlib.import_module("verl.workers.config.model").HFModelConfig.__post_init__ = lambda self: None
    needed = utils.need_reference_policy
    of_roles = "role_worker_mapping" in inspect.signature(needed).parameters
    reference = needed(roles if of_roles else config)
    validate_config(config=config, use_reference_policy=reference, use_critic=utils.need_critic(config))
    omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
