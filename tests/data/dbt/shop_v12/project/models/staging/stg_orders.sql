select order_id, customer_id, amount, status, cast(ordered_at as date) as ordered_at
from {{ source('crm', 'orders') }}
