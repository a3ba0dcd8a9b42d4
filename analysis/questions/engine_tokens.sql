-- name: engine_tokens
-- question: How many tokens do the calls tell that were served while the engine counted its own?
-- grain: a unit (a replica, or a pool whose calls name no replica) and a quarter-hour
-- unit: tokens, calls; told_count is of calls that tell their cached tokens, told_input_tokens of
--   their prompts, all_but_one_count of those whose prompt was cached but for its last token
-- params: $series_ids and $series_units say which series of token counters are of which unit;
--   $cohort_ids and $cohort_pools which calls are of which pool, $by_replica the pools whose calls
--   all name their replica, $unit_keys and $unit_numbers which unit is meant by "pool/replica";
--   $since and $until in nanoseconds or null
-- nulls: none; a call whose tokens are not known adds to call_count alone
-- identity: over a time that begins and ends idle these are the tokens of its calls

-- The input of a call is counted at its first token, its output evenly from there to its end.
with extents as (
    select
        u.value as unit_number,
        greatest(min(t.since), coalesce($since, min(t.since))) as since,
        least(max(t.until), coalesce($until, max(t.until))) as until
    from engine_steps as t
    inner join pairs($series_ids, $series_units) as u on t.series_id = u.key
    where t.increase is not null and is_among(t.series_id, $series_ids)
    group by u.value
),

replica_pools as (
    select explode($by_replica) as pool_number
),

called as (
    select
        concat(
            cast(p.value as varchar),
            '/',
            case when b.pool_number is not null then coalesce(r.replica, '') else '' end
        ) as unit_key,
        coalesce(r.first_token_at, r.ended_at) as first_token_at,
        r.ended_at,
        r.input_tokens,
        r.output_tokens,
        r.cache_read_tokens
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join pairs($cohort_ids, $cohort_pools) as p on r.cohort_id = p.key
    left join replica_pools as b on p.value = b.pool_number
    where c.timing_quality = 'ok' and r.ended_at is not null
),

served as (
    select
        e.unit_number,
        e.since,
        e.until,
        r.first_token_at,
        r.ended_at,
        r.input_tokens,
        r.output_tokens,
        r.cache_read_tokens
    from called as r
    inner join pairs($unit_keys, $unit_numbers) as u on r.unit_key = u.key
    inner join extents as e on u.value = e.unit_number
    where r.ended_at > e.since and r.first_token_at <= e.until
),

quarters as (
    select
        *,
        explode(sequence(quarter_of(first_token_at), quarter_of(ended_at))) as quarter
    from served
),

pieces as (
    select
        *,
        first_token_at > since and quarter = quarter_of(first_token_at) as is_first,
        case
            when ended_at = first_token_at then 1e0
            else greatest(
                least(ended_at, until, (cast(quarter as bigint) + 1) * 900000000000)
                - greatest(first_token_at, since, cast(quarter as bigint) * 900000000000),
                0
            ) * 1e0 / (ended_at - first_token_at)
        end as share
    from quarters
)

select
    unit_number,
    quarter,
    count(case when is_first then 1 end) as call_count,
    coalesce(cast(sum(case when is_first then input_tokens end) as double), 0e0) as input_tokens,
    coalesce(sum(output_tokens * share), 0e0) as output_tokens,
    count(case when is_first and cache_read_tokens <= input_tokens then 1 end) as told_count,
    coalesce(
        cast(
            sum(case when is_first and cache_read_tokens <= input_tokens then input_tokens end)
            as double
        ),
        0e0
    ) as told_input_tokens,
    coalesce(
        cast(
            sum(case when is_first and cache_read_tokens <= input_tokens then cache_read_tokens end)
            as double
        ),
        0e0
    ) as cached_tokens,
    count(
        case
            when is_first and cache_read_tokens > 0 and cache_read_tokens = input_tokens - 1 then 1
        end
    ) as all_but_one_count
from pieces
group by unit_number, quarter
order by unit_number, quarter
