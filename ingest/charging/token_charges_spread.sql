-- The price of each plan over each stretch that has stale days, spread over its calls by what they
-- would cost by the token. Shares are differences of cumulated ones, in billionths and in the order
-- of call_id: they add up to the price, whatever the order in which calls arrived.
create or replace temp table touched_stretches as
select distinct s.*
from plan_stretches as s
inner join charge_partitions as c
    on
        c.is_stale
        and c.pool is null
        and s.since < (cast(c.day as bigint) + 1) * 86400000000000
        and s.until > cast(c.day as bigint) * 86400000000000;

delete from plan_months
where rowid in (
    select m.rowid
    from plan_months as m
    semi join touched_stretches as t on m.plan = t.plan and m.since = t.since
);

insert into plan_months by name
with dated as (
    select
        r.call_no,
        r.cohort_id,
        coalesce(r.started_at, r.arrived_at, r.ended_at) as priced_at
    from call_rows as r
),

covered as (
    select
        d.call_no,
        d.priced_at,
        min(s.entry_no) as entry_no
    from dated as d
    inner join plan_cohorts as c on d.cohort_id = c.cohort_id
    inner join plan_stretches as s
        on c.entry_no = s.entry_no and d.priced_at >= s.since and d.priced_at < s.until
    group by d.call_no, d.priced_at
)

select
    s.plan,
    s.month,
    s.since,
    s.until,
    s.amount,
    s.currency,
    count(*) as call_count,
    count(*) - count(t.call_no) as unlisted_count,
    sum(case when t.price_source = 'plan' then t.listed_cost end) as listed_cost
from covered as c
inner join touched_stretches as s
    on c.entry_no = s.entry_no and c.priced_at >= s.since and c.priced_at < s.until
left join token_charges as t on c.call_no = t.call_no
group by s.plan, s.month, s.since, s.until, s.amount, s.currency;

update token_charges as t
set token_cost = s.share
from (
    with weighed as (
        select
            t.call_no,
            r.call_id,
            t.plan,
            t.plan_since,
            cast(cast(t.listed_cost as decimal(38, 9)) * 1000000000 as hugeint) as weight,
            cast(cast(s.amount as decimal(38, 9)) * 1000000000 as hugeint) as amount
        from token_charges as t
        inner join touched_stretches as s on t.plan = s.plan and t.plan_since = s.since
        inner join call_rows as r on t.call_no = r.call_no
    ),

    cumulated as (
        select
            call_no,
            weight,
            amount,
            sum(weight) over (
                partition by plan, plan_since order by call_id rows unbounded preceding
            ) as weight_upto,
            sum(weight) over (partition by plan, plan_since) as weight_total
        from weighed
    ),

    shares as (
        select
            call_no,
            amount * weight_upto // weight_total
            - amount * (weight_upto - weight) // weight_total as share
        from cumulated
        where weight_total > 0
    )

    select
        call_no,
        cast(cast(share as bigint) * 0.000000001 as decimal(18, 9)) as share
    from shares
) as s
where t.call_no = s.call_no;
