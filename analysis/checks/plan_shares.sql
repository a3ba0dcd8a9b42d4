-- name: plan_shares
-- question: Do the shares of calls add up to the price of their plan?
-- grain: plan and stretch of a month that is spread over calls
-- unit: amount and share_cost in currency
-- params: none
-- nulls: share_cost is null where no call has a share
-- identity: amount = share_cost
with shares as (
    select
        plan,
        plan_since,
        sum(token_cost) as share_cost
    from token_charges
    where plan is not null
    group by plan, plan_since
)

select
    m.plan,
    m.month,
    m.amount,
    m.currency,
    s.share_cost
from plan_months as m
left join shares as s on m.plan = s.plan and m.since = s.plan_since
where m.listed_cost > 0
order by m.plan, m.since
