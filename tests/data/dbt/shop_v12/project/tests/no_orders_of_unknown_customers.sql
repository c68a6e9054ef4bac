select o.* from {{ ref('stg_orders') }} o left join {{ ref('stg_customers') }} c using (customer_id) where c.customer_id is null
