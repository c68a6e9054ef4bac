select c.country, s.category, sum(s.amount) as revenue, sum(s.margin) as margin, count(distinct c.email_hash) as customers
from {{ ref("fct_sales") }} s
join {{ ref("dim_customers") }} c on c.customer_id = s.customer_id
group by c.country, s.category
