-- name: token_sums
-- question: How many tokens of each kind do the calls of a cohort use, by quarter-hour?
-- grain: a cohort and a quarter-hour
-- unit: calls; tokens; quarter is a number since 1970
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds or null; $any_user
--   and $any_conversation are false where only the calls of $user_id, $conversation_id count
-- nulls: quarter is null of calls that tell no time
-- identity: counted_count + uncounted_count = calls that began service in the window; tokens are
--   of the counted ones, each in one of the five buckets

-- A call counts where its input and its output are known: a part of either has no price.
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
),

measured as (
    select
        r.cohort_id,
        quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) as quarter,
        case
            when r.uncached_input_tokens is not null and r.visible_output_tokens is not null then 1
            else 0
        end as is_counted,
        r.uncached_input_tokens,
        coalesce(r.cache_read_tokens, 0) as cache_read_tokens,
        coalesce(r.cache_write_tokens, 0) as cache_write_tokens,
        r.visible_output_tokens,
        coalesce(r.reasoning_tokens, 0) as reasoning_tokens
    from call_rows as r
    inner join cohort_choice as c on r.cohort_id = c.cohort_id
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
)

select
    cohort_id,
    quarter,
    cast(sum(is_counted) as bigint) as counted_count,
    cast(sum(1 - is_counted) as bigint) as uncounted_count,
    cast(sum(is_counted * uncached_input_tokens) as bigint) as uncached_input_tokens,
    cast(sum(is_counted * cache_read_tokens) as bigint) as cache_read_tokens,
    cast(sum(is_counted * cache_write_tokens) as bigint) as cache_write_tokens,
    cast(sum(is_counted * visible_output_tokens) as bigint) as visible_output_tokens,
    cast(sum(is_counted * reasoning_tokens) as bigint) as reasoning_tokens
from measured
group by cohort_id, quarter
order by cohort_id, quarter nulls last
