select customer_id, country, md5(email) as email_hash, loyalty_points
from {{ ref("stg_customers") }}
