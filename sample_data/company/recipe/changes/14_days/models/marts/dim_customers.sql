select customer_id, country, md5(mail) as email_hash, loyalty_points
from {{ ref("stg_customers") }}
