-- What the warehouse has when dbt runs: COPY is not run, DuckDB stands in for Redshift.
-- Order 4 is of a customer that does not exist (a failed test), order 3 has a new status (a warned one);
-- the products were loaded three days ago (stale).
create or replace table public.customers as
select * from (values
    (1, 'Ada@example.com', 'Berlin', 'DE', 120),
    (2, 'Bo@example.com', 'Lyon', 'FR', 20)
) t (customer_id, email, city, country, loyalty_points);

create or replace table public.orders as
select * from (values
    (1, 'mug', 1, now()::timestamp, 'paid', 2, 24.0),
    (2, 'beans', 2, now()::timestamp, 'shipped', 1, 18.5),
    (3, 'mug', 2, now()::timestamp, 'on_hold', 1, 12.0),
    (4, 'beans', 7, now()::timestamp, 'paid', 3, 55.5)
) t (order_id, sku, customer_id, ordered_at, status, qty, amount);

create or replace table public.visits as
select * from (values (1, 1, now()::timestamp, 'winter'), (2, 2, now()::timestamp, 'winter')) t (visit_id, customer_id, visited_at, campaign);

create or replace table public.products as
select *, now()::timestamp - interval 3 day as loaded_at
from (values ('mug', 'ware', 0.4), ('beans', 'coffee', 0.25)) t (sku, category, margin_rate);
