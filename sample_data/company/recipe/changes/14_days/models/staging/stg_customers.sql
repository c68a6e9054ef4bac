select customer_id, lower(email) as mail, country, loyalty_points from {{ source("shop", "customers") }}
