"""AWS Glue's Data Catalog: ``arn:aws:glue:region:account`` and ``table/database/table``, lower-case."""

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, trimmed
from lineage_merge.naming.identifiers import split_name
from lineage_merge.naming.named import Defaults, Located, Named

_PREFIX = "table/"


class GlueCatalog:
    """An ARN of five parts is the catalog, the sixth is the table in it."""

    def claims(self, address: Address) -> bool:
        return address.scheme == "arn" and address.rest.lower().split(":")[1:2] == ["glue"]

    def canonical_namespace(self, address: Address) -> str:
        return trimmed(":".join(["arn", *address.rest.lower().split(":")[:4]]))

    def locate(self, address: Address) -> Located:
        name = ":".join(address.rest.split(":")[4:])
        if not name:
            raise NamingError(f"{redact(address.text)}: names a catalog and no table")
        return Located(self.canonical_namespace(address), name)

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        parts = _parts(name.lower())
        default = defaults.get(namespace, "")
        if len(parts) == 1 and default:
            parts = [split_name(default.lower())[0].value, *parts]
        if not parts[-1]:
            raise NamingError(f"{redact(namespace)}: a name without a table")
        rendered = _PREFIX + "/".join(parts) if len(parts) > 1 else parts[0]
        return Named(
            DatasetName(namespace, rendered), label="table", stored_as_files=True, short_name=parts[-1]
        )


def _parts(name: str) -> list[str]:
    """Database and table out of ``table/database/table`` or ``database.table``."""
    rest = name.removeprefix(_PREFIX)
    if rest != name and "/" in rest:
        return rest.split("/", 1)
    database, dot, table = rest.partition(".")
    return [database, table] if dot and "/" not in database else [rest]


GLUE = GlueCatalog()
