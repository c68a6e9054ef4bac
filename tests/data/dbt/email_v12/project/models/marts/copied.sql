select customer_id, email as contact
from {{ ref('stg_customers') }}
