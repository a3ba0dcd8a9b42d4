-- The costs of the calls of stale days that have none yet: what the configuration's prices give,
-- else what the call reports itself, else what the catalogue's prices give. An answer out of a
-- gateway's cache costs nothing, in $currency where it has no list price. What a plan pays costs
-- nothing of its own until the plan is spread; a call has to be listed in the plan's currency, for
-- what it would cost by the token is its weight. Of several plans the first in the file pays.
insert into token_charges by name
with costs as (
    select
        call_no,
        cohort_id,
        partition_id,
        priced_at,
        listed_cost,
        reported_cost,
        currency as listed_currency,
        case
            when is_cache_hit then 'cache'
            when price_source = 'configuration' and listed_cost is not null then 'configuration'
            when reported_cost is not null then 'reported'
            else price_source
        end as source,
        case
            when source = 'cache' then coalesce(currency, $currency)
            when source = 'reported' then reported_currency
            else currency
        end as currency,
        case
            when source = 'cache' then 'an answer out of a gateway''s cache'
            when source = 'reported' then 'cost as the call reports it'
            else price_rule
        end as price_rule,
        case
            when source = 'cache' then 0
            when source = 'reported' then reported_cost
            else listed_cost
        end as own_cost
    from listed_costs
),

covered as (
    select
        l.call_no,
        l.priced_at,
        min(s.entry_no) as entry_no
    from listed_costs as l
    inner join plan_cohorts as c on l.cohort_id = c.cohort_id
    inner join plan_stretches as s
        on c.entry_no = s.entry_no and l.priced_at >= s.since and l.priced_at < s.until
    where not l.is_cache_hit
    group by l.call_no, l.priced_at
),

paying as (
    select
        c.call_no,
        s.plan,
        s.since as plan_since,
        s.month,
        s.currency as plan_currency
    from covered as c
    inner join plan_stretches as s
        on c.entry_no = s.entry_no and c.priced_at >= s.since and c.priced_at < s.until
),

converted as (
    select
        c.*,
        e.note,
        coalesce(e.target, c.currency) as paid_currency,
        try_cast(
            coalesce(try_cast(c.own_cost as decimal(18, 9)) * e.rate, c.own_cost)
            as decimal(18, 9)
        ) as paid_cost,
        try_cast(coalesce(c.listed_cost * e.rate, c.listed_cost) as decimal(18, 9)) as avoided_cost
    from costs as c
    left join exchange as e
        on
            c.currency = e.source
            and c.priced_at >= e.since
            and (e.until is null or c.priced_at < e.until)
)

select
    c.call_no,
    c.cohort_id,
    c.partition_id,
    p.plan,
    p.plan_since,
    case when p.plan is null then c.paid_cost else 0 end as token_cost,
    c.paid_currency as currency,
    case when p.plan is null then c.source else 'plan' end as price_source,
    concat_ws(
        '; ',
        'plan ' || p.plan || ', ' || p.month || ', by list price',
        c.price_rule,
        c.note
    ) as price_rule,
    case
        when p.plan is not null then c.paid_cost
        when c.source = 'cache' then c.avoided_cost
        else try_cast(c.listed_cost as decimal(18, 9))
    end as listed_cost,
    case
        when p.plan is not null then c.paid_currency
        when c.listed_cost is null then null
        when c.source = 'cache' then c.paid_currency
        else c.listed_currency
    end as listed_currency
from converted as c
left join paying as p on c.call_no = p.call_no
where c.paid_cost is not null and coalesce(p.plan_currency = c.paid_currency, true);
