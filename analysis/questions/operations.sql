-- name: operations
-- question: Which operations took several attempts, how long did all of them take, what was wasted?
-- grain: an operation of two attempts or more, the slowest first
-- unit: latency in s from the first attempt's arrival to the last end, tokens, GPU-seconds,
--   instants in nanoseconds since 1970, fitting_count in operations
-- params: $since and $until in nanoseconds since 1970, half-open, of the first arrival, may be
--   null; $endpoint, $team and $model select one, null selects each; $most_rows at most
-- nulls: latency_s is null where a time is not known; a sum counts what is known, and
--   unknown_usage_count how many attempts tell no output tokens
-- identity: the calls of an operation are attempt_count, numbered from 1 on

-- Pieces of attempts are added up in whole picoseconds: the same bits in any order.
with attempts as (
    select
        coalesce(v.counted_as, r.retry_of, r.call_id) as operation_id,
        r.call_no,
        r.attempt,
        r.status,
        r.http_status,
        r.endpoint,
        r.team,
        r.model,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.ended_at,
        r.input_tokens,
        r.output_tokens
    from calls as r
    left join call_views as v on r.retry_of = v.call_id
    where r.attempt is not null
),

spent as (
    select
        a.call_no,
        sum(picoseconds(h.prefill_gpu_seconds) + picoseconds(h.decode_gpu_seconds)) as gpu_ps
    from attempts as a
    inner join charges as h on a.call_no = h.call_no
    group by a.call_no
),

operations as (
    select
        a.operation_id,
        min(a.begun_at) as begun_at,
        max(a.ended_at) as ended_at,
        (max(a.ended_at) - min(a.begun_at)) / 1e9 as latency_s,
        count(*) as attempt_count,
        count(*) filter (where a.status <> 'ok') as failed_count,
        max_by(a.status, a.attempt) as status,
        max_by(a.endpoint, a.attempt) as endpoint,
        max_by(a.team, a.attempt) as team,
        max_by(a.model, a.attempt) as model,
        sum(a.input_tokens) as input_tokens,
        sum(a.output_tokens) as output_tokens,
        coalesce(sum(a.input_tokens) filter (where a.status <> 'ok'), 0) as wasted_input_tokens,
        coalesce(sum(a.output_tokens) filter (where a.status <> 'ok'), 0) as wasted_output_tokens,
        count(*) filter (where a.output_tokens is null) as unknown_usage_count,
        cast(sum(s.gpu_ps) as double) / 1e12 as gpu_seconds,
        cast(sum(s.gpu_ps) filter (where a.status <> 'ok') as double) / 1e12 as wasted_gpu_seconds
    from attempts as a
    left join spent as s on a.call_no = s.call_no
    group by a.operation_id
)

select
    operation_id,
    begun_at,
    ended_at,
    latency_s,
    attempt_count,
    failed_count,
    status,
    endpoint,
    team,
    model,
    input_tokens,
    output_tokens,
    wasted_input_tokens,
    wasted_output_tokens,
    unknown_usage_count,
    gpu_seconds,
    wasted_gpu_seconds,
    count(*) over () as fitting_count
from operations
where
    ($since is null or begun_at >= $since)
    and ($until is null or begun_at < $until)
    and ($endpoint is null or endpoint = $endpoint)
    and ($team is null or team = $team)
    and ($model is null or model = $model)
order by
    latency_s desc nulls last,
    operation_id asc
limit $most_rows
