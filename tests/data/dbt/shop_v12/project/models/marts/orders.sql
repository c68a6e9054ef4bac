{{ config(materialized='incremental', unique_key='order_id') }}
select o.order_id, o.customer_id, c.country, o.amount, o.ordered_at
from {{ ref('paid_orders') }} o left join {{ ref('customers', v=2) }} c on o.customer_id = c.customer_id
{% if is_incremental() %} where o.ordered_at > (select max(ordered_at) from {{ this }}) {% endif %}
