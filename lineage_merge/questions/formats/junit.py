"""Results of policies as JUnit XML, for the test reports of CI systems."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from lineage_merge.questions.formats.policy_text import path_lines
from lineage_merge.questions.formats.xml_text import xml_characters
from lineage_merge.questions.policies import CheckedPolicy, PolicyCheck, Violation


def junit(check: PolicyCheck) -> str:
    """Return a test suite per policy, with a test case per violation, or one if there is none.

    Violations of policies with the severity warning are skipped test cases, which fail no build; so is a
    policy that checked nothing.
    """
    suites = ET.Element("testsuites", name="lineage-merge check")
    counts = [0, 0, 0]
    for result in check.results:
        cases = _cases(result, check)
        numbers = (len(cases), *(sum(each.find(kind) is not None for each in cases) for kind in _KINDS))
        suite = ET.SubElement(suites, "testsuite", _attributes(result.policy.name, numbers))
        suite.extend(cases)
        if result.notes:
            ET.SubElement(suite, "system-out").text = xml_characters("\n".join(result.notes))
        counts = [sum(pair) for pair in zip(counts, numbers, strict=True)]
    suites.attrib |= _attributes("lineage-merge check", counts)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}'


_KINDS = ("failure", "skipped")


def _attributes(name: str, numbers: Sequence[int]) -> dict[str, str]:
    tests, failures, skipped = (str(number) for number in numbers)
    return {"name": name, "tests": tests, "failures": failures, "errors": "0", "skipped": skipped}


def _cases(result: CheckedPolicy, check: PolicyCheck) -> list[ET.Element]:
    if result.violations:
        return [_violation(result, violation, check) for violation in result.violations]
    name = f"{result.checked} checked"
    case = ET.Element("testcase", classname=result.policy.name, name=name)
    if not result.checked:
        ET.SubElement(case, "skipped", message=xml_characters("; ".join(result.notes) or "nothing to check"))
    return [case]


def _violation(result: CheckedPolicy, violation: Violation, check: PolicyCheck) -> ET.Element:
    case = ET.Element("testcase", classname=result.policy.name, name=xml_characters(violation.title))
    if violation.file_path:
        case.set("file", xml_characters(violation.file_path))
    message = xml_characters(f"{violation.title} {violation.message}")
    kind = "failure" if result.policy.severity == "error" else "skipped"
    found = ET.SubElement(case, kind, message=message, type=result.policy.kind)
    found.text = xml_characters("\n".join((*path_lines(violation, check.subgraph), f"Fix: {violation.fix}")))
    return case
