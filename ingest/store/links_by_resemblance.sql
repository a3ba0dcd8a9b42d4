-- Views that resemble each other: other observers, other traces, the same counts of tokens, the
-- same model as far as the engine names one, and one interval inside of the other. Two engines, two
-- replicas or two pools that are named tell two calls.
--
-- Only a view beside which its observer tells no other with these counts at that time can be
-- paired: where there are several, nobody knows which of them is meant.
with shared_counts as (
    select
        input_tokens,
        output_tokens
    from link_evidence
    group by input_tokens, output_tokens
    having count(distinct observer) > 1
),

in_order as (
    select
        e.*,
        max(e.ended_at) over (
            partition by e.input_tokens, e.output_tokens, e.observer
            order by e.begun_at, e.call_id
            rows between unbounded preceding and 1 preceding
        ) as reached_at,
        lead(e.begun_at) over (
            partition by e.input_tokens, e.output_tokens, e.observer
            order by e.begun_at, e.call_id
        ) as next_at
    from link_evidence as e
    semi join shared_counts as s
        on e.input_tokens = s.input_tokens and e.output_tokens = s.output_tokens
),

alone as (
    select * from in_order
    where (reached_at is null or reached_at < begun_at) and (next_at is null or next_at > ended_at)
),

observers as (
    select distinct observer from alone
),

sought as (
    select
        a.*,
        o.observer as other_observer
    from alone as a
    inner join observers as o on a.observer <> o.observer
),

around as (
    select
        s.call_id,
        s.observer,
        a.call_id as other_id,
        count(*) over (partition by a.call_id, s.observer) as inside_count
    from sought as s
    asof inner join alone as a
        on
            s.input_tokens = a.input_tokens
            and s.output_tokens = a.output_tokens
            and s.other_observer = a.observer
            and s.begun_at >= a.begun_at
    where
        s.ended_at <= a.ended_at
        and coalesce(s.trace_id <> a.trace_id, true)
        and coalesce(s.response_id = a.response_id, true)
        and coalesce(s.input_hash = a.input_hash, true)
        and coalesce(s.replica = a.replica, true)
        and coalesce(s.pool_reported = a.pool_reported, true)
        and not (s.is_engine and a.is_engine)
        and (
            s.model in (a.model, a.model_requested)
            or s.model_requested in (a.model, a.model_requested)
            or (s.is_engine and s.model is null)
        )
)

select
    least(call_id, other_id) as call_id,
    greatest(call_id, other_id) as other_id,
    'probable' as rule
from around
where inside_count = 1
group by least(call_id, other_id), greatest(call_id, other_id);
