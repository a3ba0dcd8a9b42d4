-- Each call's GPU-seconds by plain SQL: every instant cuts the time, and in each stretch the calls
-- in service on one replica share its GPUs. Quadratic and slow; written apart from the kernel.
with placed as (
    select
        r.call_id,
        c.pool,
        r.replica,
        r.started_at,
        r.first_token_at,
        r.ended_at
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
),

instants as (
    select
        pool,
        replica,
        unnest([started_at, first_token_at, ended_at]) as cut_at
    from placed
    union
    select
        pool,
        null as replica,
        effective_from as cut_at
    from pools
    union
    select
        l.pool,
        l.replica,
        p.effective_from as cut_at
    from placed as l
    inner join pools as p on l.pool = p.pool
),

stretches as (
    select
        pool,
        replica,
        cut_at as begin_at,
        lead(cut_at) over (partition by pool, replica order by cut_at) as end_at
    from instants
),

shares as (
    select
        l.call_id,
        s.end_at <= l.first_token_at as is_prefill,
        s.end_at - s.begin_at as stretch_ns,
        p.gpus_per_replica * least(
            count(*) over (partition by s.pool, s.replica, s.begin_at),
            case when l.replica is null then coalesce(p.replicas, 1) else 1 end
        ) / count(*) over (partition by s.pool, s.replica, s.begin_at) as gpus
    from stretches as s
    inner join placed as l
        on
            s.pool = l.pool
            and s.replica is not distinct from l.replica
            and s.begin_at >= l.started_at
            and s.end_at <= l.ended_at
    inner join pools as p
        on
            s.pool = p.pool
            and s.begin_at >= p.effective_from
            and (p.effective_to is null or s.end_at <= p.effective_to)
)

select
    call_id,
    coalesce(sum(gpus * stretch_ns) filter (where is_prefill), 0) / 1e9 as prefill_gpu_seconds,
    coalesce(sum(gpus * stretch_ns) filter (where not is_prefill), 0) / 1e9 as decode_gpu_seconds
from shares
group by call_id;
