"""Code actions: what can be done about a finding, and about all of a file.

A client asks at every stop of the cursor. So an action is offered by what the last check has found, and its edit is
proved and written when the client wants it, if it can ask for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lsprotocol import types

from trl_lint.editors.server.desk import Checked
from trl_lint.editors.server.repairs import edits_of, pinned, repaired, suppression
from trl_lint.editors.server.session import Session
from trl_lint.editors.server.texts import View
from trl_lint.editors.server.wire import place, url_of
from trl_lint.finding import Finding

FIX_ALL = "source.fixAll.trl-lint"
EXPLAIN = "trl-lint.explain"
KINDS: tuple[types.CodeActionKind | str, ...] = (types.CodeActionKind.QuickFix, FIX_ALL)


def offered(session: Session, path: str, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The actions for a range of an open file."""
    found = session.current(path)
    if found is None:
        return []
    view, checked = found
    actions = []
    for kind, finding in _possible(view, checked, params):
        action = _action(session, view, checked, kind, finding)
        if action is not None:
            actions.append(action)
    return actions


def _possible(view: View, checked: Checked, params: types.CodeActionParams) -> Iterator[tuple[str, Finding | None]]:
    """What might be offered: the kind of action, and the finding that it is about."""
    only = params.context.only
    if _is_asked(types.CodeActionKind.QuickFix.value, only):
        for finding in _touched(view, checked, params):
            yield from ((kind, finding) for kind in ("fix", "pin", "noqa", "explain"))
    safe = any(one.fix is not None and one.fix.applicability == "safe" for one in checked.findings)
    if safe and _is_asked(FIX_ALL, only):
        yield "all", None


def _is_asked(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether a kind is one of those that are asked for, or below one."""
    asked = None if only is None else [str(getattr(one, "value", one)) for one in only]
    return asked is None or any(not one or kind == one or kind.startswith(f"{one}.") for one in asked)


def _touched(view: View, checked: Checked, params: types.CodeActionParams) -> list[Finding]:
    """The findings that a range touches."""
    uri = params.text_document.uri
    first, last = place(params.range.start), place(params.range.end)
    found = []
    for finding in checked.findings:
        span = view.span(finding.location.start, finding.location.end)
        if span.uri == uri and span.start <= last and first <= span.end:
            found.append(finding)
    return found


def _action(
    session: Session, view: View, checked: Checked, kind: str, finding: Finding | None
) -> types.CodeAction | None:
    if finding is None:
        action = types.CodeAction("trl-lint: fix all that is safe", FIX_ALL)
    elif (made := _about(session, checked, kind, finding)) is not None:
        action = made
        _, diagnostic = session.writer(checked.files).diagnostic(finding)
        action.diagnostics = [diagnostic]
    else:
        return None
    if action.command is not None or action.edit is not None:
        return action
    action.data = {"path": view.path, "kind": kind, "versions": dict(view.versions), **_mark(finding)}
    if not session.can.resolve:
        resolved(session, action)
        return action if action.edit is not None else None
    return action


def _about(session: Session, checked: Checked, kind: str, finding: Finding) -> types.CodeAction | None:
    """The action of a kind about a finding, without its edit; None where there is none."""
    quick, code = types.CodeActionKind.QuickFix, finding.code
    if kind == "fix" and finding.fix is not None:
        is_safe = finding.fix.applicability == "safe"
        title = f"{code}: {finding.fix.title}" + ("" if is_safe else " (unsafe: may change what the code does)")
        return types.CodeAction(title, quick, is_preferred=is_safe or None)
    if kind == "pin" and finding.pin is not None:
        bound = pinned(finding, session.desk.project(finding.location.path), checked.files)
        if bound is None:
            return None
        edit = session.writer(checked.files).workspace_edit([bound[1]])
        return types.CodeAction(f"{code}: pin {finding.pin.package}{bound[0]}", quick, edit=edit)
    if kind == "noqa":
        return types.CodeAction(f"{code}: suppress here with `# noqa: {code}`", quick)
    if kind == "explain" and url_of(code):
        return types.CodeAction(f"{code}: explain", quick, command=types.Command("Explain", EXPLAIN, arguments=[code]))
    return None


def _mark(finding: Finding | None) -> dict[str, Any]:
    """What tells a finding from others of one file."""
    if finding is None:
        return {}
    return {"code": finding.code, "start": finding.location.start, "message": finding.message}


def resolved(session: Session, action: types.CodeAction) -> types.CodeAction:
    """The action with its edit, if the file is still what it was offered for and nothing speaks against the edit."""
    data: Any = action.data
    if not isinstance(data, dict) or not isinstance(data.get("path"), str):
        return action
    found = session.current(data["path"])
    if found is None or dict(found[0].versions) != data.get("versions"):
        return action
    view, checked = found
    finding = next((one for one in checked.findings if _mark(one).items() <= data.items()), None)
    writer = session.writer(checked.files)
    if data.get("kind") == "all":
        action.edit = writer.workspace_edit(edits_of(repaired(session.desk, view.path)))
    elif finding is not None and data.get("kind") == "noqa":
        edits = suppression(checked.files.own(view.path), finding)
        action.edit = writer.workspace_edit(edits) if edits else None
    elif finding is not None and finding.fix is not None and data.get("kind") == "fix":
        done = repaired(session.desk, view.path, finding)
        action.edit = writer.workspace_edit(edits_of(done)) if done.changed else None
        if action.edit is None and done.refused:
            action.disabled = types.CodeActionDisabled(done.refused[0].reason)
    return action
