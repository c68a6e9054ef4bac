"""Files of declarations."""

from collections.abc import Iterator

from lineage_merge.model.elements import Problem
from lineage_merge.sources.declared.declarations import DeclarationFile, parse_declarations
from lineage_merge.sources.document_files import DocumentFiles

DECLARATION_FILES = DocumentFiles((".yaml", ".yml"), (".zip",), "YAML files")


def read_declarations(location: str) -> Iterator[DeclarationFile | Problem]:
    """Yield the declarations of a file, or each problem of one that is rejected. Raises `SourceError`."""
    for document in DECLARATION_FILES.read(location):
        if isinstance(document, Problem):
            yield document
            continue
        parsed = parse_declarations(document.text, document.location)
        if isinstance(parsed, list):
            yield from parsed
        else:
            yield parsed
