-- Each call's GPU-seconds by plain SQL: every instant of a pool cuts the time, and in each stretch
-- the calls in service share the GPUs of the replica they run on. Calls of unknown replica run on
-- the replicas that no other is known to keep busy; where none is left over, evenly beside all the
-- known ones. A call weighs its choices in decode. Slow; written apart from the kernel.
with placed as (
    select
        r.call_id,
        c.pool,
        r.replica,
        r.started_at,
        r.first_token_at,
        r.ended_at,
        coalesce(r.n_choices, 1) as choices
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
),

instants as (
    select
        pool,
        unnest([started_at, first_token_at, ended_at]) as cut_at
    from placed
    union
    select
        pool,
        effective_from as cut_at
    from pools
),

stretches as (
    select
        pool,
        cut_at as begin_at,
        lead(cut_at) over (partition by pool order by cut_at) as end_at
    from instants
),

served as (
    select
        l.call_id,
        l.replica,
        s.pool,
        s.begin_at,
        s.end_at - s.begin_at as stretch_ns,
        s.end_at <= l.first_token_at as is_prefill,
        case when s.end_at <= l.first_token_at then 1 else l.choices end as weight,
        p.gpus_per_replica as gpus,
        coalesce(p.replicas, 1) as replicas
    from stretches as s
    inner join placed as l
        on s.pool = l.pool and s.begin_at >= l.started_at and s.end_at <= l.ended_at
    inner join pools as p
        on
            s.pool = p.pool
            and s.begin_at >= p.effective_from
            and (p.effective_to is null or s.end_at <= p.effective_to)
),

unknown as (
    select
        pool,
        begin_at,
        any_value(replicas) - count(distinct replica) as left_over,
        count(distinct replica) as known_replicas,
        count(*) filter (where replica is null) as call_count,
        sum(weight) filter (where replica is null) as weight
    from served
    group by pool, begin_at
),

hosts as (
    select
        v.pool,
        v.begin_at,
        v.replica,
        sum(v.weight) + case
            when any_value(u.left_over) <= 0 and any_value(u.call_count) > 0
                then any_value(u.weight) / any_value(u.known_replicas)
            else 0
        end as weight
    from served as v
    inner join unknown as u on v.pool = u.pool and v.begin_at = u.begin_at
    where v.replica is not null
    group by v.pool, v.begin_at, v.replica
),

unit_shares as (
    select
        pool,
        begin_at,
        replica,
        1 / weight as share
    from hosts
    union all
    select
        pool,
        begin_at,
        null as replica,
        least(call_count, left_over) / weight as share
    from unknown
    where call_count > 0 and left_over > 0
    union all
    select
        u.pool,
        u.begin_at,
        null as replica,
        avg(1 / h.weight) as share
    from unknown as u
    inner join hosts as h on u.pool = h.pool and u.begin_at = h.begin_at
    where u.call_count > 0 and u.left_over <= 0
    group by u.pool, u.begin_at
),

shares as (
    select
        v.call_id,
        v.is_prefill,
        v.stretch_ns,
        v.gpus * v.weight * n.share as gpus
    from served as v
    inner join unit_shares as n
        on
            v.pool = n.pool
            and v.begin_at = n.begin_at
            and v.replica is not distinct from n.replica
)

select
    call_id,
    coalesce(sum(gpus * stretch_ns) filter (where is_prefill), 0) / 1e9 as prefill_gpu_seconds,
    coalesce(sum(gpus * stretch_ns) filter (where not is_prefill), 0) / 1e9 as decode_gpu_seconds
from shares
group by call_id;
