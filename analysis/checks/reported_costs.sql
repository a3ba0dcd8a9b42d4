-- name: reported_costs
-- question: How far are the costs that calls report from the price list?
-- grain: currency
-- unit: calls; reported_cost and listed_cost in currency
-- params: none
-- nulls: none, calls of which only one cost is known are left out
-- identity: none
select
    listed_currency as currency,
    count(*) as call_count,
    sum(token_cost) as reported_cost,
    sum(listed_cost) as listed_cost
from token_charges
where price_source = 'reported' and listed_cost is not null and currency = listed_currency
group by listed_currency
order by listed_currency
