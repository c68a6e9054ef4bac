{% test amounts_per_country(model) %}
select country from {{ model }} group by country having sum(amount) < 0
{% endtest %}
