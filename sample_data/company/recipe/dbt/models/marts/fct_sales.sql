select
    o.order_id,
    o.sku,
    o.customer_id,
    o.ordered_on,
    o.qty,
    o.amount,
    p.category,
    o.amount * p.margin_rate as margin
from {{ ref("stg_orders") }} o
left join {{ ref("stg_products") }} p on p.sku = o.sku
