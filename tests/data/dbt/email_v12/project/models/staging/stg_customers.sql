select customer_id, email, country
from {{ source('lake', 'customers') }}
