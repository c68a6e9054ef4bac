select customer_id, country, md5(email) as email_hash
from {{ ref("stg_customers") }}
