from __future__ import annotations

from trl_lint.sources import Source, SourceFile
from trl_lint.sources.markdown import Fence, fences


def read(text: str) -> list[Fence]:
    return fences(Source(SourceFile("/project/README.md", text.encode()), "markdown", text))


def one(text: str) -> Fence:
    (fence,) = read(text)
    return fence


def test_languages_come_from_the_info_string() -> None:
    text = "".join(f"```{info}\nx\n```\n" for info in ("python", "Py", "bash", "sh", "yml", "toml", "json", "js", ""))
    assert [fence.language for fence in read(text)] == ["python", "python", "shell", "shell", "yaml", "toml", "json"]


def test_info_string_is_kept() -> None:
    fence = one('```python title="train.py"\nx = 1\n```\n')
    assert (fence.language, fence.info) == ("python", 'python title="train.py"')
    assert one("```{.python .numberLines}\nx\n```\n").language == "python"


def test_place_of_a_block() -> None:
    text = "# Train\r\n\r\n```bash\r\npython train.py\r\n```\r\n"
    fence = one(text)
    assert fence.text == "python train.py\r\n"
    place = fence.location(7, 15)
    assert text[place.start : place.end] == "train.py"


def test_indentation_of_a_list_item_is_taken_off() -> None:
    text = "1. Train:\n\n   ```python\n   if x:\n       y()\n\n   z()\n   ```\n"
    fence = one(text)
    assert fence.text == "if x:\n    y()\n\nz()\n"
    place = fence.location(fence.text.index("y()"), fence.text.index("y()") + 3)
    assert text[place.start : place.end] == "y()"
    edit = fence.edit(fence.text.index("z()"), fence.text.index("z()") + 3, "w()")
    assert text[: edit.start] + edit.content + text[edit.end :] == text.replace("z()", "w()")


def test_a_range_ends_with_its_line_and_not_before_the_next() -> None:
    text = "- ```python\n  a\n  b\n  ```\n"
    fence = one(text)
    place = fence.location(0, 2)
    assert text[place.start : place.end] == "a\n"


def test_quoted_blocks() -> None:
    assert one("> [!TIP]\n> ```python\n> x = 1\n>\n> y = 2\n> ```\n").text == "x = 1\n\ny = 2\n"


def test_only_a_long_enough_fence_closes() -> None:
    assert one("````python\n```\nx\n```\n````\n").text == "```\nx\n```\n"
    assert one("~~~yaml\na: 1\n```\n~~~\n").text == "a: 1\n```\n"
    assert one("```python\nx = 1\n").text == "x = 1\n"


def test_inline_code_opens_nothing() -> None:
    assert read("```python x = 1``` is inline\n\ntext\n") == []


def test_prompts_and_output_are_left_out() -> None:
    text = "```console\n$ pip install trl \\\n    vllm\nCollecting trl\n$ trl env\nPlatform: Linux\n```\n"
    fence = one(text)
    assert fence.text == "pip install trl \\\n    vllm\ntrl env\n"
    start = fence.text.index("trl env")
    place = fence.location(start, start + 7)
    assert text[place.start : place.end] == "trl env"


def test_blocks_without_prompts_are_taken_whole() -> None:
    assert one("```bash\nexport A=$HOME\necho $A\n```\n").text == "export A=$HOME\necho $A\n"
