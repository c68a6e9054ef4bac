select order_id, sku, customer_id, cast(ordered_at as date) as ordered_on, status, qty, amount from {{ source("shop", "orders") }}
