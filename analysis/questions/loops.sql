-- name: loops
-- question: Which agents went round in a loop, and what did they spend after that could be seen?
-- grain: a loop: steps of one trace that were all taken before, with no new step between them; this
--   text also tells call_nos, which calls it spent
-- unit: run_count, repeat_count in steps; tool_s in s; GPU-seconds, cost in currency, instants in
--   nanoseconds since 1970
-- params: $since and $until in nanoseconds since 1970, half-open, of the loop's first step, may be
--   null; $endpoint and $team select one, null selects each
-- nulls: endpoint, team and model are null where the trace has no call; gpu_seconds where none of
--   the calls was charged; cost where no price is known or several currencies are
-- identity: run_count is repeat_count and the steps first taken in the loop; no step and no call is
--   in two loops of a kind

-- A step is the run of a tool or an answer of a model. It repeats where the same was done and the
-- same found before in the trace, and that had ended: a tool with equal arguments, result and
-- status; an answer to the same prompt, or in a conversation to a longer one. What does not tell
-- its arguments repeats nothing, and a result that is not told is not known to be another. A loop
-- is established with the second repeat in succession, or the last of one whole round where a
-- round has more steps. Its calls are those after that up to the last repeat. Keys choose what may
-- repeat: two that are equal by chance only add a trace that is looked at.
with deeds as (
    select
        key_of(t.trace_id || ' tool') as scope_key,
        key_of(
            t.trace_id || t.tool || ' ' || t.arguments_hash || ' ' || coalesce(t.result_hash, '')
            || t.status
        ) as deed_key
    from tool_runs as t
    where t.tool is not null and t.arguments_hash is not null
    union all
    select
        key_of(coalesce(r.trace_id, r.conversation_id) || ' answer') as scope_key,
        key_of(coalesce(r.trace_id, r.conversation_id) || r.output_hash) as deed_key
    from call_rows as r
    where r.output_hash is not null and coalesce(r.trace_id, r.conversation_id) is not null
),

repetitive as (
    select distinct scope_key
    from (
        select scope_key
        from deeds
        group by scope_key, deed_key
        having count(*) > 1
    ) as d
),

steps as (
    select
        t.trace_id as scope_id,
        'tool' as kind,
        t.span_id as step_id,
        t.tool,
        t.tool || ' ' || t.arguments_hash || ' ' || coalesce(t.result_hash, '') || t.status as deed,
        t.result_hash is null as is_blind,
        coalesce(t.started_at, t.ended_at) as begun_at,
        greatest(coalesce(t.ended_at, t.started_at), coalesce(t.started_at, t.ended_at)) as done_at,
        cast(null as varchar) as prompt_hash,
        cast(null as varchar) as conversation_id,
        cast(null as bigint) as input_tokens
    from tool_runs as t
    inner join repetitive as d on key_of(t.trace_id || ' tool') = d.scope_key
    where coalesce(t.started_at, t.ended_at) is not null
    union all
    select
        coalesce(r.trace_id, r.conversation_id) as scope_id,
        'answer' as kind,
        r.call_id as step_id,
        null as tool,
        r.output_hash as deed,
        false as is_blind,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        greatest(r.ended_at, coalesce(r.arrived_at, r.started_at)) as done_at,
        r.prompt_hash,
        r.conversation_id,
        r.input_tokens
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join repetitive as d
        on key_of(coalesce(r.trace_id, r.conversation_id) || ' answer') = d.scope_key
    where
        c.origin = 'production'
        and c.operation <> 'embeddings'
        and coalesce(r.trace_id, r.conversation_id) is not null
        and coalesce(r.arrived_at, r.started_at) is not null
),

numbered as (
    select
        s.*,
        row_number() over (
            partition by s.scope_id, s.kind
            order by s.begun_at, s.step_id
        ) as step_no
    from steps as s
),

compared as (
    select
        n.*,
        row_number() over same_deed as deed_no,
        lag(n.step_no) over same_deed as earlier_no,
        lag(n.begun_at) over same_deed as earlier_begun_at,
        lag(n.done_at) over same_deed as earlier_done_at,
        lag(n.prompt_hash) over same_deed as earlier_prompt_hash,
        lag(n.input_tokens) over same_deed as earlier_input_tokens
    from numbered as n
    window same_deed as (
        partition by n.scope_id, n.kind, n.deed
        order by n.begun_at, n.step_id
    )
),

judged as (
    select
        c.*,
        case
            when c.deed is null or coalesce(c.earlier_no, 0) = 0 then 'new'
            when coalesce(c.earlier_done_at > c.begun_at, true) then 'beside'
            when c.kind = 'tool' or c.prompt_hash = c.earlier_prompt_hash then 'repeat'
            when c.conversation_id is not null and c.input_tokens > c.earlier_input_tokens
                then 'repeat'
            else 'new'
        end as verdict
    from compared as c
),

stretches as (
    select
        j.*,
        sum(case when j.verdict = 'new' then 1 else 0 end) over (
            partition by j.scope_id, j.kind
            order by j.step_no
        ) as stretch_no
    from judged as j
),

repeats as (
    select
        s.*,
        row_number() over (
            partition by s.scope_id, s.kind, s.stretch_no
            order by s.step_no
        ) as repeat_no
    from stretches as s
    where s.verdict = 'repeat'
),

found as (
    select
        r.scope_id,
        r.kind,
        r.stretch_no,
        min(r.earlier_begun_at) as began_at,
        min(
            case
                when r.repeat_no >= 2 and r.repeat_no >= r.step_no - r.earlier_no then r.begun_at
            end
        ) as established_at,
        max(r.begun_at) as repeated_at,
        max(r.done_at) as ended_at,
        min(r.tool) as tool,
        count(*) as repeat_count,
        count(distinct r.deed) as step_count,
        sum(case when r.deed_no = 2 then 1 else 0 end) as first_count,
        sum(case when r.is_blind then 1 else 0 end) as unknown_result_count
    from repeats as r
    group by r.scope_id, r.kind, r.stretch_no
),

loops as (
    select f.*
    from found as f
    where
        f.established_at is not null
        and ($since is null or f.began_at >= $since)
        and ($until is null or f.began_at < $until)
),

waits as (
    select
        r.scope_id,
        r.kind,
        r.stretch_no,
        sum(r.done_at - r.begun_at) as tool_ns
    from repeats as r
    inner join loops as l
        on r.scope_id = l.scope_id and r.kind = l.kind and r.stretch_no = l.stretch_no
    where r.kind = 'tool' and r.begun_at > l.established_at
    group by r.scope_id, r.kind, r.stretch_no
),

scope_calls as (
    select
        coalesce(r.trace_id, r.conversation_id) as scope_id,
        r.call_no,
        r.call_id,
        r.origin,
        r.endpoint,
        r.team,
        r.model,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.input_tokens,
        r.output_tokens
    from calls as r
    where coalesce(r.trace_id, r.conversation_id) in (select l.scope_id from loops as l)
),

first_calls as (
    select
        s.*,
        row_number() over (
            partition by s.scope_id
            order by s.begun_at, s.call_id
        ) as call_rank
    from scope_calls as s
),

contexts as (
    select
        l.scope_id,
        l.kind,
        l.stretch_no,
        min(s.input_tokens) as least_input_tokens,
        max(s.input_tokens) as most_input_tokens
    from loops as l
    inner join scope_calls as s
        on
            l.scope_id = s.scope_id
            and l.began_at <= s.begun_at
            and l.repeated_at >= s.begun_at
    group by l.scope_id, l.kind, l.stretch_no
),

claimed as (
    select
        l.scope_id,
        l.kind,
        l.stretch_no,
        s.call_no,
        s.input_tokens,
        s.output_tokens,
        row_number() over (
            partition by s.call_no
            order by l.established_at, l.kind, l.stretch_no
        ) as claim_no
    from loops as l
    inner join scope_calls as s
        on
            l.scope_id = s.scope_id
            and l.established_at < s.begun_at
            and l.repeated_at >= s.begun_at
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
    where h.call_no in (select c.call_no from claimed as c)
    group by h.call_no
),

wasted as (
    select
        c.scope_id,
        c.kind,
        c.stretch_no,
        count(*) as call_count,
        sum(c.input_tokens) as input_tokens,
        sum(c.output_tokens) as output_tokens,
        cast(sum(s.gpu_ps) as double) / 1e12 as gpu_seconds,
        sum(coalesce(s.gpu_cost, t.token_cost)) as cost,
        min(coalesce(s.currency, t.currency)) as currency,
        count(distinct coalesce(s.currency, t.currency)) as currency_count,
        count(*) - count(coalesce(s.gpu_cost, t.token_cost)) as unpriced_call_count,
        array_agg(c.call_no order by c.call_no) as call_nos
    from claimed as c
    left join spent as s on c.call_no = s.call_no
    left join token_charges as t on c.call_no = t.call_no
    where c.claim_no = 1
    group by c.scope_id, c.kind, c.stretch_no
)

select
    l.scope_id as trace_id,
    l.kind,
    l.tool,
    f.endpoint,
    f.team,
    f.model,
    l.step_count,
    cast(l.repeat_count + l.first_count as bigint) as run_count,
    l.repeat_count,
    cast(l.unknown_result_count as bigint) as unknown_result_count,
    l.began_at,
    l.established_at,
    l.ended_at,
    t.least_input_tokens,
    t.most_input_tokens,
    cast(a.tool_ns as bigint) / 1e9 as tool_s,
    coalesce(w.call_count, 0) as call_count,
    cast(w.input_tokens as bigint) as input_tokens,
    cast(w.output_tokens as bigint) as output_tokens,
    w.gpu_seconds,
    case when w.currency_count = 1 then w.cost end as cost,
    case when w.currency_count = 1 then w.currency end as currency,
    coalesce(w.unpriced_call_count, 0) as unpriced_call_count,
    w.call_nos
from loops as l
left join first_calls as f on l.scope_id = f.scope_id and f.call_rank = 1
left join contexts as t
    on l.scope_id = t.scope_id and l.kind = t.kind and l.stretch_no = t.stretch_no
left join waits as a
    on l.scope_id = a.scope_id and l.kind = a.kind and l.stretch_no = a.stretch_no
left join wasted as w
    on l.scope_id = w.scope_id and l.kind = w.kind and l.stretch_no = w.stretch_no
where
    coalesce(f.origin, 'production') = 'production'
    and ($endpoint is null or f.endpoint = $endpoint)
    and ($team is null or f.team = $team)
order by
    w.gpu_seconds desc nulls last,
    l.repeat_count desc,
    l.scope_id asc,
    l.kind asc,
    l.began_at asc
