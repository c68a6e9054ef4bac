select customer_id, country
from {{ ref('stg_customers') }}
where email is not null
