# ruff: noqa: E501  a text is one line
"""Opens pages about hostile projects in a headless browser and watches: `python -m benchmarks.hostile_pages [FOLDER]`.

Names of files, code, configs, commands, variables and lines of logs hold texts that would run a script, load something
or send a form, if a page obeyed them. Each page (findings, runs, a diagnosis) is opened twice, with its policy for
contents and with that switched off, also with the texts in its address; every control is used. It fails where a script
that is not the page's own runs, where anything is asked for, and where the page has an element, a handler or an
address that the page about a harmless project has not. It needs playwright and a Chromium (see `pages.py`); it is given
FOLDER to leave the pages in.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

_HIT = "watched(1)"
_AWAY = "//evil.example/x"
TEXTS = (
    f"<script>{_HIT}</script>", f"</script><script>{_HIT}</script>", f"</style><script>{_HIT}</script>",
    f"</title><script>{_HIT}</script>", f"</textarea><script>{_HIT}</script>", f"--><script>{_HIT}</script>",
    f"]]><script>{_HIT}</script>", f"<img src=x onerror={_HIT}>", f"'><img src=x onerror={_HIT}>",
    f"\"><img src=x onerror={_HIT}>", f"\" onmouseover={_HIT} x=\"", f"' onfocus={_HIT} autofocus x='",
    f"<svg onload={_HIT}>", f"<svg><animate onbegin={_HIT} attributeName=x>", f"<math><mtext><script>{_HIT}</script>",
    f"<iframe srcdoc='<script>parent.{_HIT}</script>'>", f"<iframe src=javascript:parent.{_HIT}>",
    f"<a href=javascript:{_HIT} id=x>x</a>", f"[x](javascript:{_HIT})", f"javascript:{_HIT}", f"`<img src=x onerror={_HIT}>`",
    f"``<img src=x onerror={_HIT}>", f"**<b onclick={_HIT}>**", f"<details open ontoggle={_HIT}>",
    f"<body onload={_HIT}>", f"<input autofocus onfocus={_HIT}>", f"<object data=javascript:{_HIT}>",
    f"<embed src=javascript:{_HIT}>", f"<link rel=stylesheet href={_AWAY}>", f"<style>@import '{_AWAY}';</style>",
    f"<meta http-equiv=refresh content='0;url={_AWAY}'>", f"<base href={_AWAY}>", f"<form action={_AWAY}><button>x",
    f"<img src={_AWAY}>", f"![x]({_AWAY})", f"<video src={_AWAY} onerror={_HIT}>", f"url({_AWAY})",
    f"</pre></code></td></table><script>{_HIT}</script>", f"&lt;script&gt;{_HIT}&lt;/script&gt;",
    f"&#60;img src=x onerror={_HIT}&#62;", f"%3Cimg src=x onerror={_HIT}%3E", f"\\u003cimg src=x onerror={_HIT}\\u003e",
    f"\\x3cscript\\x3e{_HIT}", f"${{{_HIT}}}", f"{{{{{_HIT}}}}}", f"'+{_HIT}+'", f"\"+{_HIT}+\"", f"`+{_HIT}+`",
    f"</template><script>{_HIT}</script>", f"<noscript><p title='</noscript><img src=x onerror={_HIT}>'>",
    f"<!--><img src=x onerror={_HIT}>", f"<x onclick={_HIT} tabindex=1 id=x>#x", f"<scr\u0000ipt>{_HIT}</scr\u0000ipt>",
    f"\u202e<img src=x onerror={_HIT}>\u2066", f"+ADw-script+AD4-{_HIT}", f"<xmp><p title='</xmp><img src=x onerror={_HIT}>'>",
    f"<img\tsrc=x\tonerror={_HIT}>", f"<IMG SRC=x ONERROR={_HIT}>", f"<svg/onload={_HIT}//", f"<select><img src=x onerror={_HIT}>",
)  # fmt: skip
_HARMLESS = "plain text"
_USE = """() => {
  const all = [...document.querySelectorAll('button, summary, input[type=checkbox], label, th, [role=button], [tabindex]')];
  const step = Math.ceil(all.length / 200);
  all.filter((_, at) => at % step === 0).forEach(one => { one.focus(); one.click(); });
}"""
_PROBE = """() => {
  const found = {elements: {}, handlers: [], addresses: []};
  for (const one of document.querySelectorAll('*')) {
    const name = one.localName;
    found.elements[name] = (found.elements[name] || 0) + 1;
    for (const {name: key, value} of one.attributes) {
      if (/^on/i.test(key)) found.handlers.push(name + ' ' + key);
      if (/^(href|src|action|formaction|data|srcdoc|xlink:href)$/i.test(key) && !/^(#|https:\\/\\/)/.test(value))
        found.addresses.push(name + ' ' + key + '=' + value.slice(0, 80));
    }
  }
  return found;
}"""


def project(folder: Path, texts: tuple[str, ...]) -> None:
    """A project whose every part holds the texts, with something to find in each file."""
    (folder / ".git").mkdir(parents=True)
    (folder / "requirements.txt").write_text("trl==0.20.0\n")
    for number, text in enumerate(texts):
        name = text.replace("/", "\u2215").replace("\0", "")[:80]
        below = folder / f"part{number}"
        below.mkdir()
        shown = json.dumps(text.replace("\0", ""), ensure_ascii=False)
        word = "'" + text.replace("\0", "").replace("'", "'\\''") + "'"
        lines = (
            "from trl import GRPOConfig, GRPOTrainer",
            f"note = {shown}; args = GRPOConfig(output_dir={shown}, max_grad_norm=0.0, num_generation=4)  # {text}".replace(
                "\0", ""
            ),
            f"GRPOConfig('o', **{{{shown}: 1, 'loss_type': {shown}, 'num_generation': {shown}}})",
            f"GRPOTrainer(model={shown}, args=args, reward_funcs=len, tokenizer={shown}).train()",
        )
        (below / f"{name}.py").write_text("\n".join(lines) + "\n")
        (below / "train.py").write_text("\n".join(lines) + "\n")
        (below / "recipe.yaml").write_text(
            f"model_name_or_path: {shown}\nmax_seq_length: 5\nloss_type: {shown}\n{shown}: {shown}\nlearning_rate: {shown}\n"
        )
        (below / "run.sh").write_text(
            f"export NAME={word}\nexport CUDA_VISIBLE_DEVICES={word}\n"
            f"accelerate launch --num_processes 2 train.py --run_name {word} --x={word} # {text}\n".replace("\0", "")
            + f"trl sft --config recipe.yaml --max_seq_length 5 --output_dir {word} {word} --{word}\n"
            f"accelerate launch --config_file {word} {word}.py {word}\n"
        )
        (below / f"{name}.sh").write_text(f"vllm serve {word} -tp 3 &\ntrl grpo --config recipe.yaml --beta {word}\n")
    log = ["Traceback (most recent call last):"]
    for text in texts:
        line = text.replace("\n", " ").replace("\0", "")
        log += [f'  File "{line}.py", line 3, in {line}', f"    GRPOConfig({line})", f"[rank0]: {line}"]
    log.append(f"TypeError: GRPOConfig.__init__() got an unexpected keyword argument '{texts[-1]}'")
    (folder / "run.log").write_text("\n".join(log) + "\n")


def pages(folder: Path) -> dict[str, Path]:
    """The pages that are written about a project."""
    made = folder.with_name(f"{folder.name}-pages")
    made.mkdir()
    for name, line in {
        "findings": ("check", ".", "--select", "ALL", "--hints", "--output-format", "html", "--output-file"),
        "runs": ("runs", ".", "--all", "--html"),
        "diagnosis": ("diagnose", "run.log", "--project", ".", "--output-format", "html"),
    }.items():
        path = made / f"{name}.html"
        is_printed = name == "diagnosis"
        done = subprocess.run(
            [sys.executable, "-m", "trl_lint", *line, *([] if is_printed else [str(path)])],
            cwd=folder, capture_output=True, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )  # fmt: skip
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{name}: {done.stderr.decode()[-500:]}")
        if is_printed:
            path.write_bytes(done.stdout)
    return {path.stem: path for path in sorted(made.iterdir())}


def watch(browser: Any, path: Path, *, is_open: bool) -> tuple[list[str], dict[str, Any]]:
    """Open a page, use it, and tell what it did; and what it is made of. `is_open`: without its policy for contents."""
    faults: list[str] = []
    view = browser.new_context(bypass_csp=is_open)
    view.route("**/*", lambda route: route.continue_() if route.request.url.startswith("file:") else route.abort())
    tab = view.new_page()
    tab.expose_function("watched", lambda *_: faults.append("a script ran"))
    tab.on("popup", lambda _: faults.append("a window"))
    address = path.resolve().as_uri()

    def stopped(dialog: Any) -> None:
        faults.append("a dialog")
        dialog.dismiss()

    def asked(request: Any) -> None:
        if request.url.split("#")[0].split("?")[0] != address:
            faults.append(f"asks for {request.url[:100]}")

    def complained(told: Any) -> None:
        if "Content Security Policy" in told.text or told.type == "error":
            faults.append(f"console: {told.text[:200]}")

    tab.on("dialog", stopped)
    tab.on("request", asked)
    tab.on("console", complained)
    tab.on("pageerror", lambda error: faults.append(f"script: {error}"))
    tab.goto(address, wait_until="load")
    made: dict[str, Any] = tab.evaluate(_PROBE)
    tab.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
    tab.evaluate(_USE)
    for field in tab.query_selector_all("input[type=search], input[type=text], textarea"):
        for text in TEXTS[::7]:
            field.evaluate(
                "(one, text) => { one.value = text; one.dispatchEvent(new Event('input', {bubbles: true})); }", text
            )
    for text in TEXTS:
        tab.goto(f"{address}#{quote(text)}")
    for text in TEXTS[::6]:
        tab.goto(f"{address}?q={quote(text)}#{text}")
    tab.wait_for_timeout(300)
    view.close()
    return faults, made


def is_blind(browser: Any, folder: Path) -> bool:
    """Whether a page that obeys goes unseen."""
    path = folder / "obeys.html"
    path.write_text("<!doctype html>" + "".join(TEXTS[:18]))
    found, parts = watch(browser, path, is_open=True)
    return (
        not {"a script ran", "asks for"} <= {one[:8] if one.startswith("asks") else one for one in found}
        or not parts["handlers"]
    )


def differences(plain: dict[str, Any], made: dict[str, Any]) -> list[str]:
    """What the page about a hostile project has that the one about a harmless project has not."""
    usual = plain["elements"].keys() | {"i"}  # of a value that is not known
    found = [f"an element {name}" for name in made["elements"].keys() - usual]
    for name in ("script", "style", "meta", "form"):
        if made["elements"].get(name, 0) > plain["elements"].get(name, 0):
            found.append(f"one more {name}")
    return found + [f"handler {one}" for one in made["handlers"]] + [f"address {one}" for one in made["addresses"]]


def main(folder: str = "") -> int:
    """Watch every page; 1 if one obeys."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        projects = {"plain": (_HARMLESS,) * len(TEXTS), "hostile": TEXTS}
        for name, texts in projects.items():
            project(Path(made, name), texts)
        plain, hostile = (pages(Path(made, name)) for name in projects)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if is_blind(browser, Path(made)):
            faults.append("a page that obeys was not seen to")
        for name, path in hostile.items():
            _, model = watch(browser, plain[name], is_open=False)
            held = path.read_text("utf-8").count("watched(1)")
            for is_open in (False, True):
                found, parts = watch(browser, path, is_open=is_open)
                found = sorted({*found, *differences(model, parts)})
                faults += [f"{name}{' without its policy' if is_open else ''}: {one}" for one in found]
            print(
                f"{name}: {path.stat().st_size:,} bytes with {held} of the texts, {sum(parts['elements'].values()):,} elements"
            )
        browser.close()
        if folder:
            shutil.copytree(made, folder, dirs_exist_ok=True)
    print("\n".join(faults) or f"nothing ran and nothing was asked for: {len(TEXTS)} texts")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
