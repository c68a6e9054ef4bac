select customer_id, email, country from {{ source('crm', 'customers') }}
