select customer_id, md5(email) as email_hash, country from {{ ref('stg_customers') }}
