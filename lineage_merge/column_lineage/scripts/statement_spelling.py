"""Beginnings and options of statements in words that the parser knows, with the same lineage. Pure."""

import re

_PART = r'(?:"(?:[^"]|"")+"|`[^`]+`|\[[^\[\]]+\]|[\w$]+)'
_NAME = rf"{_PART}(?:\s*\.\s*{_PART})*"
_CREATES = re.compile(r"create\s+(?P<words>(?:\w+\s+)*?)(?P<kind>table|view)\b", re.IGNORECASE)
# Of a table or a view that is created: how it is stored, protected, or found.
_WITHOUT_MEANING = frozenset(
    """dialect editionable force hybrid interactive live local multi noforce noneditionable protected
    recursive snapshot""".split()
)
_SPELLINGS = tuple(
    (re.compile(written, re.IGNORECASE), known)
    for written, known in (
        # Redshift's external views
        (rf"(?<=view)(\s+{_NAME})\s+if\s+not\s+exists\b", r" if not exists\1"),
        (r"\bdeep\s+clone\b", "clone"),  # Databricks
        (r"\bon\s+commit\s+drop\b", ""),
        (r"\bwith\s+(?:no\s+)?data\s*\Z", ""),
    )
)
_BEGINNINGS = tuple(
    (re.compile(written, re.IGNORECASE), known)
    for written, known in (
        (r"replace\s+table\b", "create or replace table"),  # Spark
        (rf"alter\s+view\s+({_NAME})\s+as\b", r"create or replace view \1 as"),
        (r"insert\s+with\s+schema\s+evolution\b", "insert"),  # Databricks
        (r"(insert|update|delete)(?:\s+(?:low_priority|high_priority|delayed|quick)\b)+", r"\1"),  # MySQL
        (r"update\s+ignore\s+(?!set\b)", "update "),
        (
            r"(insert\s+overwrite\s+(?:local\s+)?directory\s+'[^']*')\s+using\s+\w+(?:\s+options\s*\([^)]*\))?",
            r"\1",
        ),
    )
)


def known_spelling(text: str) -> str:
    """Return a statement in words that the parser knows."""
    for written, known in _BEGINNINGS:
        if match := written.match(text):
            text = match.expand(known) + text[match.end() :]
    created = _CREATES.match(text)
    if created is None:
        return text
    words = [word for word in created["words"].split() if word.lower() not in _WITHOUT_MEANING]
    text = f"{' '.join(['create', *words, created['kind']])}{text[created.end() :]}"
    for written, known in _SPELLINGS:
        text = written.sub(known, text, count=1)
    return text
