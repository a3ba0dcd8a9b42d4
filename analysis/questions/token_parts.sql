-- name: token_parts
-- question: What of the cost of each call priced by the token is its uncached input, its output?
-- grain: a call whose cost is its list price, of which the parts are known
-- unit: billionths of the currency of its cost
-- params: $cohort_ids are the cohorts selected
-- nulls: none; a call that tells its cost itself, or that a plan pays, has no row
-- identity: input_billionths + output_billionths <= the cost of the call; what is left is cached
--   input and the price of a request

-- price_windows has the prices of today's configuration and catalogue, rented_cohorts the model of
-- each cohort. A price that was given stays in the ledger: where that of today comes to another
-- amount, the parts are not known.
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
),

listed as (
    select
        t.call_no,
        t.token_cost,
        t.listed_cost,
        c.model_no,
        r.uncached_input_tokens,
        coalesce(r.cache_read_tokens, 0) as cache_read_tokens,
        coalesce(r.cache_write_tokens, 0) as cache_write_tokens,
        r.visible_output_tokens,
        coalesce(r.reasoning_tokens, 0) as reasoning_tokens,
        coalesce(r.started_at, r.arrived_at, r.ended_at) as priced_at
    from token_charges as t
    inner join call_rows as r on t.call_no = r.call_no
    inner join rented_cohorts as c on t.cohort_id = c.cohort_id
    inner join cohort_choice as k on t.cohort_id = k.cohort_id
    where t.price_source not in ('reported', 'plan', 'cache') and t.listed_cost > 0
),

parts as (
    select
        u.call_no,
        u.token_cost,
        u.listed_cost,
        coalesce(u.uncached_input_tokens * w.input_price, 0) as input_cost,
        coalesce(u.visible_output_tokens * w.output_price, 0)
        + coalesce(u.reasoning_tokens * w.reasoning_price, 0) as output_cost,
        coalesce(u.cache_read_tokens * w.cache_read_price, 0)
        + coalesce(u.cache_write_tokens * w.cache_write_price, 0)
        + w.request_price as other_cost
    from listed as u
    inner join price_windows as w
        on
            u.model_no = w.model_no
            and u.priced_at >= w.since
            and (w.until is null or u.priced_at < w.until)
            and u.priced_at % 86400000000000 >= w.day_from
            and u.priced_at % 86400000000000 < w.day_until
            and u.uncached_input_tokens + u.cache_read_tokens + u.cache_write_tokens
            > w.tokens_over
            and (
                w.tokens_upto is null
                or u.uncached_input_tokens + u.cache_read_tokens + u.cache_write_tokens
                <= w.tokens_upto
            )
),

shares as (
    select
        call_no,
        token_cost * 1e9 * cast(input_cost as double) / cast(listed_cost as double) as input_share,
        token_cost * 1e9 * cast(output_cost as double) / cast(listed_cost as double)
            as output_share,
        token_cost * 1e9 as whole_share
    from parts
    where cast(input_cost + output_cost + other_cost as decimal(18, 9)) = listed_cost
)

select
    call_no,
    cast(floor(least(input_share, whole_share)) as bigint) as input_billionths,
    cast(floor(least(output_share, whole_share - floor(least(input_share, whole_share)))) as bigint)
        as output_billionths
from shares
order by call_no
