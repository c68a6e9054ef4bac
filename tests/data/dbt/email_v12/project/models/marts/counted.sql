select country, count(distinct email) as addresses
from {{ ref('stg_customers') }}
group by country
