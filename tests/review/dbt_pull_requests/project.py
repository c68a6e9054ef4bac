"""A dbt project of 40 models, and pull requests that change it, as the text of files.

`compile_manifests.py` compiles them with dbt; the tests read the manifests that it writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

_SOURCES = {
    "customers": ("id", "full_name", "email", "country", "created_at"),
    "orders": ("id", "customer_id", "status", "amount", "ordered_at"),
    "order_items": ("id", "order_id", "product_id", "quantity", "price"),
    "products": ("id", "title", "category", "cost"),
    "payments": ("id", "order_id", "method", "amount", "paid_at"),
    "events": ("id", "customer_id", "kind", "page", "happened_at"),
    "refunds": ("id", "payment_id", "amount", "refunded_at"),
    "shipments": ("id", "order_id", "carrier", "shipped_at"),
}


def _project() -> dict[str, str]:
    files = {
        "dbt_project.yml": "\n".join(
            (
                "name: shop",
                "version: '1.0'",
                "profile: shop",
                "models:",
                "  shop:",
                "    marts: {+materialized: table}",
                "",
            )
        ),
        "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}\n",
        "macros/money.sql": "{% macro rounded(value) %}round({{ value }}, 2){% endmacro %}\n"
        "{% macro dollars(column) %}{{ rounded(column ~ ' / 100') }}{% endmacro %}\n",
        "models/sources.yml": "\n".join(
            (
                "sources:",
                "  - name: raw",
                "    schema: raw",
                "    tables:",
                *(f"      - name: {name}" for name in _SOURCES),
                "",
            )
        ),
    }
    for name, columns in _SOURCES.items():
        renamed = {"id": f"id as {name.removesuffix('s')}_id", "email": "lower(email) as email"}
        money = {"amount", "cost", "price"}
        lines = [
            renamed.get(each, f"{{{{ dollars('{each}') }}}} as {each}" if each in money else each)
            for each in columns
        ]
        select = ",\n    ".join(lines)
        files[f"models/staging/stg_{name}.sql"] = (
            f"select\n    {select}\nfrom {{{{ source('raw', '{name}') }}}}\n"
        )
    for name, sql in _MODELS.items():
        folder = "marts" if name.startswith(("dim_", "fct_", "mart_", "rpt_")) else "intermediate"
        files[f"models/{folder}/{name}.sql"] = sql.strip() + "\n"
    files["models/models.yml"] = _YAML
    return files


_MODELS = {
    "eph_paid_orders": """
{{ config(materialized='ephemeral') }}
select order_id, customer_id, amount, ordered_at from {{ ref('stg_orders') }} where status = 'paid'
""",
    "int_order_payments": """
with payments as (select order_id, sum(amount) as paid, max(paid_at) as paid_at
    from {{ ref('stg_payments') }} group by order_id)
select o.order_id, o.customer_id, o.status, o.amount, p.paid, p.paid_at
from {{ ref('stg_orders') }} as o left join payments as p on o.order_id = p.order_id
""",
    "int_order_items": """
select i.order_item_id, i.order_id, i.product_id, p.category, i.quantity, i.quantity * i.price as revenue
from {{ ref('stg_order_items') }} as i join {{ ref('stg_products') }} as p on i.product_id = p.product_id
""",
    "int_customer_orders": """
select customer_id, count(*) as orders, {{ rounded('sum(amount)') }} as amount,
    min(ordered_at) as first_order_at
from {{ ref('eph_paid_orders') }} group by customer_id
""",
    "int_customer_events": """
select customer_id, count(*) as events, max(happened_at) as last_seen_at
from {{ ref('stg_events') }} where kind <> 'bot' group by customer_id
""",
    "int_refunds": """
select r.refund_id, p.order_id, r.amount as refunded, r.refunded_at
from {{ ref('stg_refunds') }} as r join {{ ref('stg_payments') }} as p on r.payment_id = p.payment_id
""",
    "int_shipments": """
select order_id, carrier, cast(shipped_at as date) as shipped_on from {{ ref('stg_shipments') }}
""",
    "int_daily_orders": """
select cast(ordered_at as date) as day, count(*) as orders, {{ rounded('sum(amount)') }} as amount
from {{ ref('eph_paid_orders') }} group by 1
""",
    "dim_customers": """
select c.customer_id, c.full_name, c.email, c.country, o.orders, o.amount as lifetime_amount,
    o.first_order_at, e.last_seen_at
from {{ ref('stg_customers') }} as c
left join {{ ref('int_customer_orders') }} as o on c.customer_id = o.customer_id
left join {{ ref('int_customer_events') }} as e on c.customer_id = e.customer_id
""",
    "dim_products": "select product_id, title, category, cost from {{ ref('stg_products') }}",
    "dim_dates": "select distinct day from {{ ref('int_daily_orders') }}",
    "dim_carriers": "select distinct carrier from {{ ref('int_shipments') }}",
    "fct_orders": """
select p.order_id, p.customer_id, p.status, p.amount, p.paid, s.carrier, s.shipped_on
from {{ ref('int_order_payments') }} as p
left join {{ ref('int_shipments') }} as s on p.order_id = s.order_id
where p.status <> 'cancelled'
""",
    "fct_order_items": "select * from {{ ref('int_order_items') }}",
    "fct_refunds": "select * from {{ ref('int_refunds') }}",
    "fct_payments": "select payment_id, order_id, method, amount, paid_at from {{ ref('stg_payments') }}",
    "fct_events": "select event_id, customer_id, kind, page, happened_at from {{ ref('stg_events') }}",
    "fct_daily_orders": "select day, orders, amount from {{ ref('int_daily_orders') }}",
    "mart_revenue_by_category": """
select category, sum(revenue) as revenue from {{ ref('fct_order_items') }} group by category
""",
    "mart_revenue_by_country": """
select c.country, {{ rounded('sum(o.amount)') }} as revenue
from {{ ref('fct_orders') }} as o join {{ ref('dim_customers') }} as c on o.customer_id = c.customer_id
group by c.country
""",
    "mart_refund_rate": """
select o.status, {{ rounded('sum(r.refunded) / sum(o.amount)') }} as rate
from {{ ref('fct_orders') }} as o left join {{ ref('fct_refunds') }} as r on o.order_id = r.order_id
group by o.status
""",
    "mart_top_customers": """
select customer_id, full_name, lifetime_amount from {{ ref('dim_customers') }} where lifetime_amount > 1000
""",
    "mart_carriers": """
select carrier, count(*) as orders, min(shipped_on) as first_day from {{ ref('fct_orders') }} group by carrier
""",
    "mart_payment_methods": """
select method, {{ rounded('sum(amount)') }} as amount from {{ ref('fct_payments') }} group by method
""",
    "mart_margin": """
select i.category, sum(i.revenue) - sum(p.cost) as margin
from {{ ref('fct_order_items') }} as i join {{ ref('dim_products') }} as p on i.product_id = p.product_id
group by i.category
""",
    "mart_activity": """
select cast(happened_at as date) as day, count(distinct customer_id) as customers
from {{ ref('fct_events') }} group by 1
""",
    "mart_conversion": """
select d.day, d.orders, a.customers, d.orders / a.customers as rate
from {{ ref('fct_daily_orders') }} as d join {{ ref('mart_activity') }} as a on d.day = a.day
""",
    "rpt_executive": """
select r.day, r.rate, d.amount from {{ ref('mart_conversion') }} as r
join {{ ref('fct_daily_orders') }} as d on r.day = d.day
""",
    "rpt_countries": "select country, revenue from {{ ref('mart_revenue_by_country') }}",
    "rpt_categories": """
select c.category, c.revenue, m.margin from {{ ref('mart_revenue_by_category') }} as c
join {{ ref('mart_margin') }} as m on c.category = m.category
""",
    "rpt_customers": "select customer_id, full_name from {{ ref('mart_top_customers') }}",
    "rpt_shipping": "select carrier, orders from {{ ref('mart_carriers') }}",
}

_YAML = """\
models:
  - name: stg_customers
    columns:
      - name: email
        tags: [pii]
        data_tests: [not_null]
  - name: fct_orders
    config: {meta: {owner: sales@example.com}}
    columns:
      - name: order_id
        data_tests: [unique, not_null]
      - name: shipped_on
        data_type: date
      - name: amount
        data_tests: [not_null]
exposures:
  - name: countries_dashboard
    type: dashboard
    owner: {name: Ada, email: ada@example.com}
    depends_on: [ref('rpt_countries')]
  - name: shipping_report
    type: analysis
    owner: {name: Bob, email: bob@example.com}
    depends_on: [ref('rpt_shipping')]
"""

FILES: Mapping[str, str] = _project()


@dataclass(frozen=True, slots=True)
class PullRequest:
    """Replacements of texts by file, files to delete, and files to move."""

    replace: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    move: Mapping[str, str] = field(default_factory=dict)
    add: Mapping[str, str] = field(default_factory=dict)

    def applied(self, files: Mapping[str, str]) -> dict[str, str]:
        """Return the files with the change."""
        found = {**files, **self.add}
        for name, replacements in self.replace.items():
            for before, after in replacements:
                if before not in found[name]:
                    raise ValueError(f"{name} does not contain {before!r}")
                found[name] = found[name].replace(before, after)
        for before, after in self.move.items():
            found[after] = found.pop(before)
        return found


_INT = "models/intermediate/int_"
PULL_REQUESTS: Mapping[str, PullRequest] = {
    "drop": PullRequest({f"{_INT}shipments.sql": (("carrier, ", ""),)}),
    "rename": PullRequest({f"{_INT}order_items.sql": (("as revenue", "as net_revenue"),)}),
    "retype": PullRequest({f"{_INT}shipments.sql": (("as date)", "as timestamp)"),)}),
    "filter": PullRequest({"models/marts/fct_orders.sql": (("<> 'cancelled'", "= 'paid'"),)}),
    "join_type": PullRequest({f"{_INT}order_payments.sql": (("left join payments", "join payments"),)}),
    "materialization": PullRequest(
        {"models/marts/dim_products.sql": (("select ", "{{ config(materialized='view') }}\nselect "),)}
    ),
    "pii_path": PullRequest(
        {
            "models/marts/mart_top_customers.sql": (("full_name,", "full_name, email,"),),
            "models/marts/rpt_customers.sql": (("full_name", "full_name, email"),),
        }
    ),
    "moved_model": PullRequest(
        {
            "models/marts/fct_orders.sql": (
                ("select p.order_id", "{{ config(schema='sales') }}\nselect p.order_id"),
            )
        }
    ),
    "ephemeral": PullRequest({f"{_INT.replace('int_', 'eph_')}paid_orders.sql": (("'paid'", "'settled'"),)}),
    "macro": PullRequest({"macros/money.sql": ((", 2)", ", 4)"),)}),
    "reformat": PullRequest(
        {
            f"{_INT}order_payments.sql": (
                ("with payments as", "-- one row per order\nWITH order_totals AS"),
                (
                    "left join payments as p on o.order_id = p.order_id",
                    "LEFT JOIN order_totals pay\n  ON o.order_id = pay.order_id",
                ),
                ("p.paid, p.paid_at\nfrom", "pay.paid, pay.paid_at /* newest */\nFROM"),
            )
        }
    ),
    "source_rename": PullRequest(
        {
            "models/sources.yml": (("name: shipments", "name: deliveries"),),
            "models/staging/stg_shipments.sql": (("'shipments'", "'deliveries'"),),
        }
    ),
    "removed_test": PullRequest({"models/models.yml": (("        data_tests: [unique, not_null]\n", ""),)}),
}
