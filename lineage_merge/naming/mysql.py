"""MySQL and MariaDB: ``mysql://host:3306`` and ``database.table``, spelled as written.

Either one's driver reaches either server, so both have one name.
"""

from lineage_merge.naming.warehouse import Warehouse

MYSQL = Warehouse(scheme="mysql", aliases=frozenset({"mariadb"}), port=3306, levels=2)
