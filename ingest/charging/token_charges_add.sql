-- The costs of the calls of stale days that have none yet: what the configuration's prices give,
-- else what the call reports itself, else what the catalogue's prices give.
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
        price_source = 'configuration' and listed_cost is not null as is_configured,
        case
            when is_configured or reported_cost is null then currency
            else reported_currency
        end as currency,
        case
            when is_configured or reported_cost is null then price_source
            else 'reported'
        end as price_source,
        case
            when is_configured or reported_cost is null then price_rule
            else 'cost as the call reports it'
        end as price_rule
    from listed_costs
),

chosen as (
    select
        * exclude (reported_cost, is_configured),
        try_cast(
            case when is_configured then listed_cost else coalesce(reported_cost, listed_cost) end
            as decimal(18, 9)
        ) as own_cost
    from costs
)

select
    c.call_no,
    c.cohort_id,
    c.partition_id,
    try_cast(coalesce(c.own_cost * e.rate, c.own_cost) as decimal(18, 9)) as token_cost,
    coalesce(e.target, c.currency) as currency,
    c.price_source,
    case when e.note is null then c.price_rule else c.price_rule || '; ' || e.note end
        as price_rule,
    try_cast(c.listed_cost as decimal(18, 9)) as listed_cost,
    case when c.listed_cost is not null then c.listed_currency end as listed_currency
from chosen as c
left join exchange as e
    on
        c.currency = e.source
        and c.priced_at >= e.since
        and (e.until is null or c.priced_at < e.until)
where try_cast(coalesce(c.own_cost * e.rate, c.own_cost) as decimal(18, 9)) is not null;
