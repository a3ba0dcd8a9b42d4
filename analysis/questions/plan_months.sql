-- name: plan_months
-- question: What does each flat plan cost, and over which calls is it spread?
-- grain: plan and stretch of a month in which it has one price and covers calls
-- unit: since and until in nanoseconds since 1970; amount and listed_cost in currency
-- params: none
-- nulls: listed_cost is null where no call of the stretch has a list price
-- identity: the shares of the calls add up to amount where listed_cost is above 0
select
    plan,
    month,
    since,
    until,
    amount,
    currency,
    call_count,
    unlisted_count,
    listed_cost
from plan_months
order by plan, since
