"""Redaction of passwords, tokens and keys in text, before it becomes an id, a property or a message.

Every text passes one of three callers: `naming` (addresses), `record_builder` (texts of a record) and
`errors.LineageMergeError` (messages). The type `Redacted` marks redacted texts. Imports no other package, so
that all can import it.
"""

from lineage_merge.infra.redaction.addresses import CONTAINER_SCHEMES
from lineage_merge.infra.redaction.parameters import names_secret
from lineage_merge.infra.redaction.spans import MASK
from lineage_merge.infra.redaction.text import Redacted, redact, redact_ambiguous, redact_sql

__all__ = [
    "CONTAINER_SCHEMES",
    "MASK",
    "Redacted",
    "names_secret",
    "redact",
    "redact_ambiguous",
    "redact_sql",
]
