"""Fields of structures through expressions that build, read and pass them, by the agent and by `capture`."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from tests.capture.agent_and_capture import BY_BOTH, TARGET, Reader
from tests.sources.spline.columns.example_tables import example_tables
from tests.sources.spline.columns.harvesting import harvest
from tests.sources.spline.columns.lineage_reading import expressions, listed, read

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with example_tables(spark, tmp_path_factory.mktemp("tables")) as running:
        yield running


# A query, its flows, and its influences.
_QUERIES = {
    "fields of fields, and whole structures": (
        "SELECT address.city, address.geo.lat l, address.geo g, address FROM n WHERE address.zip > '1'",
        (
            "n.address.city -> city IDENTITY; n.address.geo.lat -> l IDENTITY;"
            "n.address.geo -> g IDENTITY; n.address -> address IDENTITY"
        ),
        "n.address.zip FILTER",
    ),
    "struct.* of a struct's field": (
        "SELECT address.geo.* FROM n",
        "n.address.geo.lat -> lat IDENTITY; n.address.geo.lon -> lon IDENTITY",
        "",
    ),
    "structs of structs": (
        "SELECT named_struct('x', id, 'in', struct(upper(payload) AS y, address.geo)) s FROM n",
        ("n.id -> s.x IDENTITY; n.payload -> s.in.y TRANSFORMATION; n.address.geo -> s.in.geo IDENTITY"),
        "",
    ),
    "a struct that repeats another": (
        """SELECT if(address IS NULL, NULL, named_struct('city', address.city, 'zip', address.zip,
                     'geo', named_struct('lat', address.geo.lat, 'lon', address.geo.lon))) a FROM n""",
        "n.address -> a IDENTITY",
        "",
    ),
    "arrays and maps of structs that repeat others": (
        """SELECT transform(items, i -> named_struct('sku', i.sku, 'qty', i.qty)) i,
                  map_from_arrays(map_keys(attrs), transform(map_values(attrs),
                      v -> if(v IS NULL, NULL, named_struct('a', v.a, 'b', v.b)))) m,
                  transform(items, i -> named_struct('qty', i.qty, 'sku', i.sku)) o FROM n""",
        (
            "n.items -> i IDENTITY; n.attrs -> m IDENTITY; n.items.sku -> o.sku TRANSFORMATION;"
            "n.items.qty -> o.qty TRANSFORMATION"
        ),
        "",
    ),
    "a struct of the same fields in another order": (
        "SELECT named_struct('lon', address.geo.lon, 'lat', address.geo.lat) g FROM n",
        "n.address.geo.lat -> g.lat IDENTITY; n.address.geo.lon -> g.lon IDENTITY",
        "",
    ),
    "fields of an array's items": (
        "SELECT items.sku s, items[0].qty q, element_at(items, 1).sku e, size(items) n FROM n",
        (
            "n.items.sku -> s IDENTITY; n.items.qty -> q TRANSFORMATION; n.items.sku -> e TRANSFORMATION;"
            "n.items -> n TRANSFORMATION"
        ),
        "",
    ),
    "values of a map": (
        (
            "SELECT attrs['k'].a a, map_values(attrs)[0].b b, map_keys(attrs) k, map('k', address)['k'].zip z"
            " FROM n"
        ),
        (
            "n.attrs.a -> a TRANSFORMATION; n.attrs.b -> b TRANSFORMATION; n.attrs -> k TRANSFORMATION;"
            "n.address.zip -> z TRANSFORMATION"
        ),
        "",
    ),
    "generators": (
        """SELECT i.sku, p, x.qty, k, v.a, s, q FROM n LATERAL VIEW explode(items) AS i
             LATERAL VIEW posexplode(items) AS p, x LATERAL VIEW explode(attrs) AS k, v
             LATERAL VIEW inline(items) AS s, q WHERE i.qty > 1""",
        (
            "n.items.sku -> sku TRANSFORMATION; n.items -> p TRANSFORMATION;"
            "n.items.qty -> qty TRANSFORMATION; n.attrs -> k TRANSFORMATION; n.attrs.a -> a TRANSFORMATION;"
            "n.items.sku -> s TRANSFORMATION; n.items.qty -> q TRANSFORMATION"
        ),
        "n.items.qty FILTER",
    ),
    "an array that is built and exploded": (
        "SELECT c.x, c.y FROM (SELECT explode(array(struct(id AS x, payload AS y))) c FROM n)",
        "n.id -> x TRANSFORMATION; n.payload -> y TRANSFORMATION",
        "",
    ),
    "transform": (
        """SELECT transform(items, i -> i.qty + id) n,
                  transform(items, (i, at) -> named_struct('sku', i.sku, 'at', at)) s,
                  transform(items, i -> 1) c FROM n""",
        (
            "n.items.qty -> n TRANSFORMATION; n.id -> n TRANSFORMATION; n.items.sku -> s.sku TRANSFORMATION;"
            "n.items -> s.at TRANSFORMATION; n.items -> c TRANSFORMATION"
        ),
        "",
    ),
    "a variable inside another function's of the same name": (
        (
            "SELECT transform(items, x -> aggregate(transform(array(id), x -> x + 1), x.qty,"
            " (acc, y) -> acc + y)) t FROM n"
        ),
        "n.items.qty -> t TRANSFORMATION; n.id -> t TRANSFORMATION",
        "",
    ),
    "filter": (
        "SELECT filter(items, i -> i.qty > 1) f, filter(items, i -> i.qty > 1)[0].sku s FROM n",
        (
            "n.items -> f TRANSFORMATION; n.items.qty -> f CONDITIONAL; n.items.sku -> s TRANSFORMATION;"
            "n.items.qty -> s CONDITIONAL"
        ),
        "",
    ),
    "aggregate of fields": (
        """SELECT aggregate(items, named_struct('n', 0, 't', ''),
                            (acc, i) -> named_struct('n', acc.n + i.qty, 't', concat(acc.t, i.sku)),
                            acc -> acc.n) a,
                  exists(items, i -> i.qty > id) e FROM n""",
        ("n.items.qty -> a TRANSFORMATION; n.items.qty -> e TRANSFORMATION; n.id -> e TRANSFORMATION"),
        "",
    ),
    "arrays that are zipped": (
        """SELECT arrays_zip(items.sku, items.qty) z, arrays_zip(items.sku, items.qty)[0].qty b,
                  zip_with(items, array(id), (i, j) -> struct(i.sku AS s, j AS k)) w FROM n""",
        (
            "n.items.sku -> z.sku TRANSFORMATION; n.items.qty -> z.qty TRANSFORMATION;"
            "n.items.sku -> w.s TRANSFORMATION; n.id -> w.k TRANSFORMATION; n.items.qty -> b TRANSFORMATION"
        ),
        "",
    ),
    "functions of maps": (
        """SELECT map_filter(attrs, (k, v) -> v.a > 1) f, transform_values(attrs, (k, v) -> v.b) t,
                  transform_values(attrs, (k, v) -> v.b)['x'] x FROM n""",
        (
            "n.attrs -> f TRANSFORMATION; n.attrs.a -> f CONDITIONAL; n.attrs.b -> t TRANSFORMATION;"
            "n.attrs -> t TRANSFORMATION; n.attrs.b -> x TRANSFORMATION"
        ),
        "",
    ),
    "JSON": (
        """SELECT from_json(payload, 'k string, who struct<id:int, xs: array<struct<v:int>>>') p,
                  from_json(payload, 'k string, who struct<id:int>').who.id w,
                  get_json_object(payload, '$.k') g, to_json(address) t,
                  to_json(struct(id, address.city)) s FROM n""",
        (
            "n.payload -> p.k TRANSFORMATION; n.payload -> p.who.id TRANSFORMATION;"
            "n.payload -> p.who.xs.v TRANSFORMATION; n.payload -> w TRANSFORMATION;"
            "n.payload -> g TRANSFORMATION; n.address -> t TRANSFORMATION; n.id -> s TRANSFORMATION;"
            "n.address.city -> s TRANSFORMATION"
        ),
        "",
    ),
    "a cast matches fields by position": (
        """SELECT cast(address AS struct<town:string, code:int, geo:struct<lat:double,lon:double>>) a,
                  cast(address.geo AS struct<x:string,y:double>).x x,
                  cast(items AS array<struct<a:string,b:bigint>>)[0].b b FROM n""",
        (
            "n.address.city -> a.town TRANSFORMATION; n.address.zip -> a.code TRANSFORMATION;"
            "n.address.geo -> a.geo TRANSFORMATION; n.address.geo.lat -> x TRANSFORMATION;"
            "n.items.qty -> b TRANSFORMATION"
        ),
        "",
    ),
    "branches": (
        """SELECT coalesce(address.geo, named_struct('lat', 0D, 'lon', cast(id AS double))) c,
                  if(id > 1, address, NULL).city i,
                  CASE WHEN address.zip = '1' THEN address.geo END.lon w FROM n""",
        (
            "n.address.geo -> c TRANSFORMATION; n.id -> c.lon TRANSFORMATION;"
            "n.address.city -> i TRANSFORMATION; n.id -> i CONDITIONAL;"
            "n.address.geo.lon -> w TRANSFORMATION; n.address.zip -> w CONDITIONAL"
        ),
        "",
    ),
    "a union by position": (
        """SELECT s.x, s FROM (SELECT named_struct('x', id, 'y', payload) s FROM n
             UNION ALL SELECT struct(a AS p, b AS q) FROM t)""",
        (
            "n.id -> x IDENTITY; t.a -> x IDENTITY; n.id -> s.x IDENTITY; t.a -> s.x IDENTITY;"
            "n.payload -> s.y IDENTITY; t.b -> s.y IDENTITY"
        ),
        "",
    ),
    "a union by name": (
        """SELECT s.x FROM (SELECT struct(id AS x, payload AS y) s FROM n)
           UNION ALL SELECT s.y FROM (SELECT struct(address.city AS y) s FROM n)""",
        "n.id -> x TRANSFORMATION; n.address.city -> x IDENTITY",
        "",
    ),
    "structs in structs by stack and by a set operation": (
        """SELECT DISTINCT v.c FROM n LATERAL VIEW stack(2, struct(address.city AS c),
             struct(payload AS c)) AS v""",
        "n.address.city -> c TRANSFORMATION; n.payload -> c TRANSFORMATION",
        "n.address.city GROUP_BY; n.payload GROUP_BY",
    ),
    "a join and an order by fields": (
        "SELECT l.id FROM n l JOIN n r ON l.address.city = r.items[0].sku ORDER BY l.address.geo.lon",
        "n.id -> id IDENTITY",
        "n.address.city JOIN; n.items.sku JOIN; n.address.geo.lon SORT",
    ),
    "a CTE that is read twice": (
        (
            "WITH c AS (SELECT id, struct(address.city, id AS n) s FROM n)"
            " SELECT l.s.city, r.s.n FROM c l JOIN c r ON l.s.n = r.id"
        ),
        "n.address.city -> city IDENTITY; n.id -> n IDENTITY",
        "n.id JOIN",
    ),
    "aggregates": (
        """SELECT first(address).city f, collect_list(struct(id, address.zip)) c,
                  max_by(address, id).zip m, max(struct(id, address.city AS x)).x g
             FROM n GROUP BY address.geo.lat""",
        (
            "n.address.city -> f AGGREGATION; n.id -> c.id AGGREGATION; n.address.zip -> c.zip AGGREGATION;"
            "n.address.zip -> m AGGREGATION; n.id -> m CONDITIONAL; n.address.city -> g AGGREGATION;"
            "n.id -> g CONDITIONAL"
        ),
        "n.address.geo.lat GROUP_BY",
    ),
    "windows": (
        "SELECT lag(address) OVER (PARTITION BY address.zip ORDER BY items[0].qty).city l FROM n",
        ("n.address.city -> l TRANSFORMATION; n.address.zip -> l WINDOW; n.items.qty -> l WINDOW"),
        "",
    ),
    "a subquery's text": (
        "SELECT (SELECT max(address.city) FROM n WHERE address.geo.lat > 1 AND n.id = u.k) x FROM u",
        "n.address.city -> x AGGREGATION",
        "n.address.geo.lat FILTER; n.id FILTER; u.k FILTER",
    ),
}


@BY_BOTH
@pytest.mark.parametrize("shape", _QUERIES)
def test_fields_of_a_query(tables: SparkSession, shape: str, reader: Reader) -> None:
    query, expected_flows, expected_influences = _QUERIES[shape]

    assert reader(tables.sql(query)) == (listed(expected_flows), listed(expected_influences))


@BY_BOTH
def test_fields_that_are_set_and_dropped(tables: SparkSession, reader: Reader) -> None:
    address = F.col("address")
    frame = tables.table("n").select(
        address.withField("zip", F.upper("payload")).alias("s"),
        address.dropFields("zip", "geo.lon").alias("d"),
        address.withField("geo.alt", F.col("id") * 2)["geo"]["alt"].alias("alt"),
        F.to_json(address.dropFields("zip")).alias("j"),
    )

    found, _ = reader(frame)

    assert found == {
        "n.address.city -> s.city IDENTITY",
        "n.payload -> s.zip TRANSFORMATION",
        "n.address.geo -> s.geo IDENTITY",
        "n.address.city -> d.city IDENTITY",
        "n.address.geo.lat -> d.geo.lat IDENTITY",
        "n.id -> alt TRANSFORMATION",
        "n.address.city -> j TRANSFORMATION",
        "n.address.geo -> j TRANSFORMATION",
    }


@BY_BOTH
def test_a_python_function_depends_on_its_whole_arguments(tables: SparkSession, reader: Reader) -> None:
    @F.udf("struct<a:string,b:string>")
    def split(text: str, number: int) -> tuple[str, str]:
        return text, str(number)

    frame = tables.table("n").select(split("address.city", "id").alias("s"))

    whole, _ = reader(frame)
    one, _ = reader(frame.select(F.col("s.a").alias("x")))

    assert whole == {"n.address.city -> s TRANSFORMATION", "n.id -> s TRANSFORMATION"}
    assert one == {"n.address.city -> x TRANSFORMATION", "n.id -> x TRANSFORMATION"}


def test_an_expression_is_shown_from_the_field_that_it_reads(tables: SparkSession) -> None:
    frame = tables.sql(
        "SELECT address.city c, items[0].sku s, e.q q FROM"
        " (SELECT address, items, named_struct('q', id + 1) e FROM n)",
    )

    found = read(harvest(frame, TARGET))

    assert expressions(found) == {"s": "items[0].sku", "q": "id + 1"}
