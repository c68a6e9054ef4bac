select
  customer_id,
  case when email like '%@example.com' then 'internal' else 'external' end as kind
from {{ ref('stg_customers') }}
