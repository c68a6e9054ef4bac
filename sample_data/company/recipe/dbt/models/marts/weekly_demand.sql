select sku, category, date_trunc('week', ordered_on) as week, sum(qty) as units
from {{ ref("fct_sales") }}
group by sku, category, date_trunc('week', ordered_on)
