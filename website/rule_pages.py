"""The rule pages and the table of rules as the site shows them."""

from __future__ import annotations

from trl_lint.knowledge.pages import Page, all_pages, page_text
from trl_lint.knowledge.tables import BEGIN, END, TOPICS, fix_words
from trl_lint.regexes import regex

FRAMEWORKS = {
    "TRL": r"\b(?:trl(?!-lint)|TRL(?!\d)|GRPOConfig|GRPOTrainer|DPOConfig|SFTTrainer)\b",
    "transformers": r"\b(?:transformers|Trainer)\b",
    "accelerate": r"\b[Aa]ccelerate\b",
    "DeepSpeed": r"\b(?:DeepSpeed|deepspeed)\b",
    "FSDP": r"\bFSDP2?\b",
    "vLLM": r"\b(?:vLLM|vllm)\b",
    "PEFT": r"\b(?:PEFT|peft|LoRA)\b",
    "verl": r"\bverl\b",
    "OpenRLHF": r"\b(?:OpenRLHF|openrlhf)\b",
    "LLaMA-Factory": r"\b(?:LLaMA-Factory|llamafactory)\b",
    "axolotl": r"\baxolotl\b",
    "ms-swift": r"\bms-swift\b",
    "Unsloth": r"\b[Uu]nsloth\b",
    "Ray": r"\b(?:Ray|ray)\b",
}
_NAMED = {name: regex(pattern) for name, pattern in FRAMEWORKS.items()}


def frameworks_of(page: Page) -> tuple[str, ...]:
    """The frameworks that a page names in its facts, in its title, in what it does or in its versions."""
    told = page.body.split("\n## Example")[0]
    text = " ".join([page.title, *page.versions, told])
    return tuple(name for name, pattern in _NAMED.items() if pattern.search(text))


def rule_file(page: Page) -> str:
    """Where the page of a rule stands in the site, below docs/."""
    return f"rules/{page.code}.md"


def rule_page(page: Page) -> str:
    """The page of a rule, with a way back to the list."""
    title = f"{page.code} {page.title.replace(':', ' ')}"
    return f"---\ntitle: {title}\n---\n\n{page_text(page)}\n[All rules](../../docs/rules.md)\n"


def with_site_table(text: str) -> str:
    """docs/rules.md with one table for all rules, which a script of the site filters."""
    head, _, rest = text.partition(BEGIN)
    return head + _table() + rest.partition(END)[2]


def _table() -> str:
    rows = ["\n| code | what it finds | level | impact | fix | topic | concerns |", "|---|---|---|---|---|---|---|"]
    for page in all_pages():
        title = page.title.replace("|", "\\|")
        link = f"[{page.code}]({rule_file(page)})"
        cells = [link, title, page.severity, page.impact, fix_words(page) or "none", TOPICS[page.code[3]]]
        rows.append(f"| {' | '.join([*cells, ', '.join(frameworks_of(page))])} |")
    return "\n".join(rows) + "\n"
