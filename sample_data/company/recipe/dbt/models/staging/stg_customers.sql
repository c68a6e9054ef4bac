select customer_id, lower(email) as email, country, loyalty_points from {{ source("shop", "customers") }}
