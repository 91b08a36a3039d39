"""Which keys the commands of LLaMA-Factory, ms-swift and axolotl have, against counts taken from their sources.

The counts were taken by another program: the fields of the argument classes of installed releases (LLaMA-Factory 0.9.3
and 0.9.5, ms-swift 3.8.2 and 4.6.0, axolotl 0.19.0), and for the others those that `ast` finds in the archives. Fields
of transformers are left out; of axolotl, so are the three or four aliases.
"""

import pytest

from trl_lint.knowledge.command_keys import Keys, accepted_transformers, joined, keys_of, plugin_keys

COUNTS = {
    ("llamafactory", "train"): "0.7.1 119, 0.8.0 127, 0.9.1 146, 0.9.2 175, 0.9.3 195, 0.9.4 218, 0.9.5 229",
    ("llamafactory", "infer"): "0.7.1 119, 0.9.1 146, 0.9.3 188, 0.9.5 211",
    ("llamafactory", "eval"): "0.7.1 118, 0.9.1 144, 0.9.3 186, 0.9.5 209",
    ("ms-swift", "sft"): "2.0.0 132, 2.6.1 212, 3.0.0 157, 3.8.2 213, 4.0.0 230, 4.6.0 245",
    ("ms-swift", "rlhf"): "2.6.1 236, 3.0.0 168, 3.8.2 323, 4.0.0 359, 4.6.0 393",
    ("ms-swift", "infer"): "2.0.0 53, 3.0.0 86, 3.8.2 133, 4.6.0 153",
    ("ms-swift", "deploy"): "2.0.0 57, 3.0.0 96, 3.8.2 144, 4.6.0 164",
    ("ms-swift", "rollout"): "3.8.2 149, 3.12.4 161, 4.6.0 170",
    ("ms-swift", "export"): "2.0.0 64, 3.0.0 78, 3.8.2 108, 4.6.0 127",
    ("axolotl", "train"): "0.5.2 243, 0.8.1 276, 0.9.2 282, 0.13.2 343, 0.18.0 388, 0.19.0 390",
}
CASES = [(*place, *entry.split(" ")) for place, entries in COUNTS.items() for entry in entries.split(", ")]


@pytest.mark.parametrize(("package", "command", "version", "count"), CASES)
def test_every_field_is_a_key(package, command, version, count):
    keys = keys_of(package, command, version)
    assert keys is not None
    assert not keys.is_open
    aliases = (3, 4) if package == "axolotl" else (0,)
    assert len(keys.own) - int(count) in aliases


def test_a_command_that_a_release_does_not_have_has_no_keys():
    assert keys_of("ms-swift", "dpo", "3.0.0") is None
    assert keys_of("ms-swift", "dpo", "2.6.1") is not None
    assert keys_of("ms-swift", "rollout", "3.0.0") is None


def test_fields_of_transformers_are_keys_while_a_release_accepts_one_that_has_them():
    for version, has in (("0.9.1", True), ("0.9.5", False)):
        keys = keys_of("llamafactory", "train", version)
        assert keys is not None
        assert keys.takes("evaluation_strategy", accepted_transformers("llamafactory", version)) is has
        assert keys.takes("learning_rate", accepted_transformers("llamafactory", version)) is True


def test_a_plugin_adds_its_keys_and_one_from_elsewhere_any():
    keys = keys_of("axolotl", "train", "0.19.0")
    liger = plugin_keys("axolotl", "axolotl.integrations.liger.LigerPlugin", "0.19.0")
    assert keys is not None
    assert keys.takes("liger_rope", ()) is False
    assert joined([keys, liger]).takes("liger_rope", ()) is True
    assert joined([keys, plugin_keys("axolotl", "mine.Plugin", "0.19.0")]).takes("liger_rope", ()) is None


def test_a_beginning_of_a_key_is_found_wherever_it_stands_in_the_order():
    keys = Keys(frozenset({"model", "model_type", "seed", "adapter"}), ("transformers:TrainingArguments",))
    assert all(keys.has_beginning(text) for text in ("a", "adapter", "mod", "model_", "see", ""))
    assert not any(keys.has_beginning(text) for text in ("b", "modelx", "seeds", "z", "A"))
    assert not Keys(frozenset()).has_beginning("")
