"""Files of declarations."""

from lineage_merge.sources.document_files import DocumentFiles

DECLARATION_FILES = DocumentFiles((".yaml", ".yml"), (".zip",), "YAML files")
