-- name: retries
-- question: What did attempts cost that had to be made again, and why had they to be?
-- grain: endpoint, team and model of an operation, and why an attempt of it was made again; this
--   text also tells call_nos, which attempts these are, and first_count and first_gpu_seconds of
--   those that were first attempts of operations that recovered
-- unit: counts in attempts and operations; attempt_s in s; tokens; GPU-seconds, cost in currency
-- params: $since and $until in nanoseconds since 1970, half-open, of the operation's first
--   arrival, may be null; $endpoint, $team and $model select one, null selects each
-- nulls: attempt_s where no end is known; gpu_seconds where no attempt was charged; cost where no
--   price is known or several currencies are; a sum of tokens counts what is known
-- identity: of all reasons but truncation, attempt_count, tokens and gpu_seconds add up to
--   failed_count, wasted tokens and wasted_gpu_seconds of operations

-- Failed attempts of operations of several attempts, by how they failed; refused is HTTP 429. And
-- truncated answers, by any name of that finish reason, whose prompt was sent once more in the
-- same trace or conversation after they had ended. Endpoint, team and model are those of the last
-- attempt.
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

operations as (
    select
        operation_id,
        min(begun_at) as begun_at,
        max_by(status, attempt) as status,
        max_by(endpoint, attempt) as endpoint,
        max_by(team, attempt) as team,
        max_by(model, attempt) as model
    from attempts
    group by operation_id
),

cut_short as (
    select distinct
        coalesce(r.trace_id, r.conversation_id) as scope_id,
        r.input_hash
    from call_rows as r
    where
        (
            lower(r.finish_reason) like '%length%'
            or lower(r.finish_reason) like '%max%tokens%'
        )
        and r.input_hash is not null
        and coalesce(r.trace_id, r.conversation_id) is not null
),

sent_again as (
    select
        r.call_no,
        r.call_id,
        r.endpoint,
        r.team,
        r.model,
        r.status,
        r.finish_reason,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.ended_at,
        r.input_tokens,
        r.output_tokens,
        lead(r.status) over same_prompt as next_status,
        lead(coalesce(r.arrived_at, r.started_at)) over same_prompt as next_begun_at
    from calls as r
    inner join cut_short as s
        on coalesce(r.trace_id, r.conversation_id) = s.scope_id and r.input_hash = s.input_hash
    where r.origin = 'production'
    window same_prompt as (
        partition by s.scope_id, r.input_hash, r.endpoint
        order by coalesce(r.arrived_at, r.started_at) nulls last, r.call_id
    )
),

wasted as (
    select
        a.operation_id,
        o.endpoint,
        o.team,
        o.model,
        case when a.http_status = 429 then 'refused' else a.status end as reason,
        o.status = 'ok' as is_recovered,
        o.status = 'ok' and a.attempt = 1 as is_first,
        a.call_no,
        a.begun_at,
        a.ended_at,
        a.input_tokens,
        a.output_tokens,
        o.begun_at as operation_begun_at
    from attempts as a
    inner join operations as o on a.operation_id = o.operation_id
    where a.status <> 'ok'
    union all
    select
        s.call_id as operation_id,
        s.endpoint,
        s.team,
        s.model,
        'truncation' as reason,
        s.next_status = 'ok' as is_recovered,
        false as is_first,
        s.call_no,
        s.begun_at,
        s.ended_at,
        s.input_tokens,
        s.output_tokens,
        s.begun_at as operation_begun_at
    from sent_again as s
    where
        s.status = 'ok'
        and (
            lower(s.finish_reason) like '%length%'
            or lower(s.finish_reason) like '%max%tokens%'
        )
        and s.next_begun_at >= s.ended_at
),

chosen as (
    select w.*
    from wasted as w
    where
        ($since is null or w.operation_begun_at >= $since)
        and ($until is null or w.operation_begun_at < $until)
        and ($endpoint is null or w.endpoint = $endpoint)
        and ($team is null or w.team = $team)
        and ($model is null or w.model = $model)
),

spent as (
    select
        h.call_no,
        sum(picoseconds(h.prefill_gpu_seconds) + picoseconds(h.decode_gpu_seconds)) as gpu_ps,
        sum_gpu_cost(
            picoseconds(h.prefill_gpu_seconds) + picoseconds(h.decode_gpu_seconds),
            p.price_per_gpu_hour
        ) as gpu_cost,
        max(p.currency) as currency
    from charges as h
    inner join pools as p on h.rate_id = p.rate_id
    where h.call_no in (select c.call_no from chosen as c)
    group by h.call_no
),

paid as (
    select
        c.*,
        s.gpu_ps,
        coalesce(s.gpu_cost, t.token_cost) as cost,
        coalesce(s.currency, t.currency) as currency
    from chosen as c
    left join spent as s on c.call_no = s.call_no
    left join token_charges as t on c.call_no = t.call_no
),

grouped as (
    select
        p.endpoint,
        p.team,
        p.model,
        p.reason,
        count(*) as attempt_count,
        count(distinct p.operation_id) as operation_count,
        count(distinct case when p.is_recovered then p.operation_id end) as recovered_count,
        sum(greatest(p.ended_at - p.begun_at, 0)) / 1e9 as attempt_s,
        coalesce(sum(p.input_tokens), 0) as input_tokens,
        coalesce(sum(p.output_tokens), 0) as output_tokens,
        count(*) filter (where p.output_tokens is null) as unknown_usage_count,
        cast(sum(p.gpu_ps) as double) / 1e12 as gpu_seconds,
        sum(p.cost) as cost,
        min(p.currency) as currency,
        max(p.currency) as last_currency,
        count(*) - count(p.cost) as unpriced_count,
        array_agg(p.call_no order by p.call_no) as call_nos,
        count(*) filter (where p.is_first) as first_count,
        cast(sum(case when p.is_first then p.gpu_ps end) as double) / 1e12 as first_gpu_seconds
    from paid as p
    group by p.endpoint, p.team, p.model, p.reason
)

select
    g.endpoint,
    g.team,
    g.model,
    g.reason,
    g.attempt_count,
    g.operation_count,
    g.recovered_count,
    g.attempt_s,
    cast(g.input_tokens as bigint) as input_tokens,
    cast(g.output_tokens as bigint) as output_tokens,
    g.unknown_usage_count,
    g.gpu_seconds,
    case when g.currency = g.last_currency then g.cost end as cost,
    case when g.currency = g.last_currency then g.currency end as currency,
    g.unpriced_count,
    g.call_nos,
    g.first_count,
    g.first_gpu_seconds
from grouped as g
order by
    g.gpu_seconds desc nulls last,
    g.attempt_count desc,
    g.endpoint asc nulls last,
    g.team asc nulls last,
    g.model asc nulls last,
    g.reason asc
