select visit_id, customer_id, visited_at, campaign from {{ source("shop", "visits") }}
