-- The costs of the calls of stale days that have none yet: what the configuration's prices give,
-- else what the call reports itself, else what the catalogue's prices give. An answer out of a
-- gateway's cache costs nothing, in $currency where it has no list price.
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
    call_no,
    cohort_id,
    partition_id,
    paid_cost as token_cost,
    paid_currency as currency,
    source as price_source,
    case when note is null then price_rule else price_rule || '; ' || note end as price_rule,
    case
        when source = 'cache' then avoided_cost else try_cast(listed_cost as decimal(18, 9))
    end as listed_cost,
    case
        when listed_cost is null then null
        when source = 'cache' then paid_currency
        else listed_currency
    end as listed_currency
from converted
where paid_cost is not null;
