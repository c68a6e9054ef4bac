select order_id, sku, customer_id, cast(ordered_at as date) as ordered_on, status, qty, amount as net_amount from {{ source("shop", "orders") }}
