with spent as (
    select customer_id, sum(amount) as amount from {{ ref("fct_sales") }} group by customer_id
)

select v.campaign, v.customer_id, c.mail as contact, max(v.visited_at) as last_visit, max(spent.amount) as spent
from {{ ref("stg_visits") }} v
join {{ ref("stg_customers") }} c on c.customer_id = v.customer_id
left join spent on spent.customer_id = v.customer_id
group by v.campaign, v.customer_id, c.mail
