-- What the calls of stale days without a cost would cost by the price windows.
-- A bucket without tokens costs nothing, nor does one that is neither counted nor priced (the
-- output of embeddings). Tokens without a price, or a price without a count, are an unknown cost;
-- so is a count that no call can have, and so is every count of a model without a price.
create or replace temp macro bucket_cost(tokens, price) as
case
    when tokens = 0 or (tokens is null and price is null) then 0
    else try_cast(tokens as decimal(12, 0)) * price
end;

-- A call that was turned away (HTTP 4xx) without a token used none. Of an answer out of a
-- gateway's cache it is what the tokens that it repeats would cost.
create or replace temp view listed_costs as
with stale_days as (
    select
        partition_id,
        day
    from charge_partitions
    where is_stale and pool is null
),

dated as (
    select
        r.call_no,
        r.cohort_id,
        c.model_no,
        coalesce(r.started_at, r.arrived_at, r.ended_at) as priced_at,
        r.reported_cost,
        coalesce(r.reported_currency, 'USD') as reported_currency,
        coalesce(r.is_cache_hit, false) as is_cache_hit,
        coalesce(r.http_status between 400 and 499, false) as is_refused,
        case when is_refused then 0 end as refused_tokens,
        case
            when is_cache_hit then r.reported_input_tokens
            else coalesce(r.uncached_input_tokens, refused_tokens)
        end as uncached_input_tokens,
        coalesce(r.cache_read_tokens, 0) as cache_read_tokens,
        coalesce(r.cache_write_tokens, 0) as cache_write_tokens,
        coalesce(
            case when is_cache_hit then r.reported_output_tokens else r.visible_output_tokens end,
            case when c.operation = 'embeddings' then 0 else refused_tokens end
        ) as visible_output_tokens,
        coalesce(r.reasoning_tokens, 0) as reasoning_tokens
    from call_rows as r
    inner join rented_cohorts as c on r.cohort_id = c.cohort_id
),

unpriced as (
    select
        d.*,
        s.partition_id,
        d.uncached_input_tokens + d.cache_read_tokens + d.cache_write_tokens as input_tokens
    from dated as d
    inner join stale_days as s on d.priced_at // 86400000000000 = s.day
    anti join token_charges as t on d.call_no = t.call_no
)

select
    u.call_no,
    u.cohort_id,
    u.partition_id,
    u.priced_at,
    u.reported_cost,
    u.reported_currency,
    u.is_cache_hit,
    w.currency,
    w.price_source,
    w.price_rule,
    case
        when w.currency is not null
            then
                bucket_cost(u.uncached_input_tokens, w.input_price)
                + bucket_cost(u.cache_read_tokens, w.cache_read_price)
                + bucket_cost(u.cache_write_tokens, w.cache_write_price)
                + bucket_cost(u.visible_output_tokens, w.output_price)
                + bucket_cost(u.reasoning_tokens, w.reasoning_price)
                + case when u.is_refused then 0 else w.request_price end
    end as listed_cost
from unpriced as u
left join price_windows as w
    on
        u.model_no = w.model_no
        and u.priced_at >= w.since
        and (w.until is null or u.priced_at < w.until)
        and u.priced_at % 86400000000000 >= w.day_from
        and u.priced_at % 86400000000000 < w.day_until
        and u.input_tokens > w.tokens_over
        and (w.tokens_upto is null or u.input_tokens <= w.tokens_upto);
