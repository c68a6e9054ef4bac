"""Variables and templates in SQL: ``${hiveconf:dt}``, ``{{ ds }}``, ``:day``. Pure.

They are replaced by words that a parser accepts as names, and restored in the parsed result.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_TEMPLATE = re.compile(r"\$\{[^{}]*\}|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|%\([A-Za-z_]\w*\)s", re.DOTALL)
_STAND_IN = re.compile(r"__variable_(\d+)__")
_NAMESPACES = ("hiveconf:", "hivevar:", "system:", "env:", "params.", "var.")
_SET = re.compile(
    r"^[ \t]*set[ \t]+(?:hiveconf:|hivevar:)?([\w.]+)[ \t]*=[ \t]*([^;\n]*?)[ \t]*(?:;|$)",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(slots=True)
class Variables:
    """The variables of one file: `known` values by name, and the texts without a value."""

    known: Mapping[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def replace_templates(self, text: str) -> str:
        """Return a file's text with templates replaced by their value, or by a placeholder word.

        Values set in the file (Hive's ``SET hivevar:db=dw``) are used if none is configured. Line numbers do
        not change.
        """
        self.known = {**{match[1]: _unquote(match[2]) for match in _SET.finditer(text)}, **self.known}
        return _TEMPLATE.sub(self._replace_template, text)

    def placeholder(self, template: str) -> str:
        """Return the replacement of a variable in SQL: its value, or a placeholder word."""
        value = self._value(template)
        if value is not None:
            return value
        if template not in self.unknown:
            self.unknown.append(template)
        return f"__variable_{self.unknown.index(template)}__"

    def restore_templates(self, text: str) -> str:
        """Return a text with the variables as they were written."""
        return _STAND_IN.sub(lambda match: self.unknown[int(match[1])], text)

    def is_variable(self, name: str) -> bool:
        """Return whether a parsed name is just a variable."""
        return _STAND_IN.fullmatch(name) is not None

    def occur_in(self, restored: str) -> bool:
        """Return whether a name, as written, depends on a variable without a value."""
        return any(name in restored for name in self.unknown)

    def _replace_template(self, match: re.Match[str]) -> str:
        template = match[0]
        lines = "\n" * template.count("\n")
        if template.startswith(("{%", "{#")):
            return lines or " "
        return self.placeholder(template) + lines

    def _value(self, template: str) -> str | None:
        name = template.strip("${}:").strip()
        if template.startswith("%("):
            name = template[2:-2]
        value = self.known.get(name)
        for namespace in _NAMESPACES:
            if value is None and name.startswith(namespace):
                value = self.known.get(name.removeprefix(namespace))
        return None if value is None or _TEMPLATE.search(value) else value


def _unquote(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
