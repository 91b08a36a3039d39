"""JUnit XML as CI services read it: a suite for each file, a failed test for each finding.

The shape is that of junit-10.xsd, by which the xUnit plugin of Jenkins refuses a whole report: so a test has no
attributes for its file and line, and they stand in its name. A hint is no failure, as it does not stop a build either.
There is no time in it, so equal runs give equal reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TextIO
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from trl_lint.causes import cause_keys
from trl_lint.finding import Finding
from trl_lint.reports import Report, nothing_found, page_of, visible
from trl_lint.reports.places import in_checkout


def write(report: Report, stream: TextIO) -> None:
    report = in_checkout(report, "CI_PROJECT_DIR")
    root = Element("testsuites", name="trl-lint")
    found = zip(report.findings, cause_keys(report.findings, report.cwd), strict=True)
    for path, pairs in groupby(found, key=lambda pair: pair[0].location.path):
        root.append(_suite(report.path(path), [_case(finding, cause, report) for finding, cause in pairs]))
    if report.problems:
        root.append(_suite("trl-lint", [_problem(report.path(path), message) for path, message in report.problems]))
    if len(root) == 0:  # some services take an empty report for a broken one
        root.append(_suite("trl-lint", [Element("testcase", name=_legal(nothing_found(report)), classname="trl-lint")]))
    _count(root, root.iter("testcase"))
    indent(root)
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    ElementTree(root).write(stream, encoding="unicode")
    stream.write("\n")


def _case(finding: Finding, cause: str, report: Report) -> Element:
    page = page_of(finding.code)
    place = _legal(report.place(finding.location))
    name = f"{finding.code} {page.name}" if page else finding.code
    case = Element("testcase", name=f"{name} ({place})", classname=_legal(report.path(finding.location.path)))
    message = _legal(finding.message)
    lines = [f"{place}: {finding.code} {message}"]
    lines += [f"{_legal(report.place(related))}: {_legal(related.message)}" for related in finding.related]
    if page:
        lines.append(page.url)
    lines.append(f"cause: {cause}")  # the format has no place for it: properties belong to suites
    if finding.severity == "info":
        SubElement(case, "system-out").text = "\n".join(lines)
    else:
        SubElement(case, "failure", type=finding.severity, message=message).text = "\n".join(lines)
    return case


def _problem(path: str, message: str) -> Element:
    case = Element("testcase", name=_legal(path), classname="trl-lint")
    SubElement(case, "error", type="problem", message=_legal(message))
    return case


def _suite(name: str, cases: list[Element]) -> Element:
    suite = Element("testsuite", name=_legal(name))
    _count(suite, cases)
    suite.extend(cases)
    return suite


def _count(element: Element, cases: Iterable[Element]) -> None:
    tests = list(cases)
    element.set("tests", str(len(tests)))
    element.set("failures", str(sum(case.find("failure") is not None for case in tests)))
    element.set("errors", str(sum(case.find("error") is not None for case in tests)))


def _legal(text: str) -> str:
    """Text that XML 1.0 can hold: `visible` writes out all it forbids but two characters."""
    return visible(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
