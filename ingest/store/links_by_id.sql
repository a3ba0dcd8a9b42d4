-- Views of one answer: the same response id at one time. An id that one observer gives to calls of
-- several traces at one time is no id of an answer, and links nothing.
with in_order as (
    select
        call_id,
        trace_id,
        observer,
        response_id,
        begun_at,
        max(ended_at) over (
            partition by response_id order by begun_at, call_id
            rows between unbounded preceding and 1 preceding
        ) as reached_at
    from link_evidence
    where response_id is not null
),

islands as (
    select
        *,
        count(*) filter (where begun_at > reached_at + $slack_ns) over (
            partition by response_id order by begun_at, call_id
        ) as island_no
    from in_order
),

answers as (
    select
        response_id,
        island_no,
        min(call_id) as call_id
    from islands
    group by response_id, island_no
    having
        count(*) > 1
        and count(distinct concat_ws('|', observer, coalesce(trace_id, call_id)))
        = count(distinct observer)
)

select
    a.call_id,
    i.call_id as other_id,
    'response_id' as rule
from islands as i
inner join answers as a on i.response_id = a.response_id and i.island_no = a.island_no
where i.call_id <> a.call_id;
