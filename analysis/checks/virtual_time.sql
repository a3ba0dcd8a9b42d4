-- name: virtual_time
-- question: Does virtual time as window functions charge each call what is stored for it?
-- grain: one partition of those asked for
-- unit: GPU-seconds
-- params: $partition_ids are the partitions to charge again
-- nulls: none
-- identity: worst_difference_s and sum_difference_s are 0 to rounding

-- At an instant with n calls in service, min(n, R) of R replicas with G GPUs are busy and each
-- call is charged G min(n, R) / n a second. A known replica is the case R = 1. Rates cut the day.
with asked as (
    select explode($partition_ids) as partition_id
),

days as (
    select
        p.partition_id,
        p.pool,
        p.replica,
        cast(p.day as bigint) * 86400000000000 as since,
        (cast(p.day as bigint) + 1) * 86400000000000 as until
    from charge_partitions as p
    inner join asked as a on p.partition_id = a.partition_id
),

served as (
    select
        d.partition_id,
        r.call_no,
        greatest(coalesce(r.started_at, r.arrived_at), d.since) as started_at,
        least(r.ended_at, d.until) as ended_at
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join days as d
        on c.pool = d.pool and r.replica is not distinct from d.replica
    where
        c.timing_quality = 'ok'
        and coalesce(r.started_at, r.arrived_at) < d.until
        and r.ended_at > d.since
        -- a call that the server refused was not in service
        and (r.started_at is not null or r.http_status is distinct from 429 or r.output_tokens > 0)
),

rates as (
    select
        d.partition_id,
        greatest(p.effective_from, d.since) as since,
        least(coalesce(p.effective_to, d.until), d.until) as until,
        p.gpus_per_replica,
        case
            when d.replica is null then greatest(coalesce(p.replicas, 1), 1)
            else 1
        end as replicas
    from days as d
    inner join pools as p on d.pool = p.pool
    where
        p.effective_from < d.until
        and (p.effective_to is null or p.effective_to > d.since)
),

steps as (
    select
        partition_id,
        started_at as moment,
        1 as step
    from served
    union all
    select
        partition_id,
        ended_at as moment,
        -1 as step
    from served
    union all
    select
        partition_id,
        since as moment,
        0 as step
    from rates
),

instants as (
    select
        partition_id,
        moment,
        sum(step) as step
    from steps
    group by partition_id, moment
),

levels as (
    select
        partition_id,
        moment,
        sum(step) over (
            partition by partition_id
            order by moment
            rows unbounded preceding
        ) as in_service,
        lead(moment) over (
            partition by partition_id
            order by moment
        ) - moment as lasts
    from instants
),

charged_per_call as (
    select
        l.partition_id,
        l.moment,
        case
            when l.in_service > 0 and l.lasts > 0
                then
                    l.lasts / 1e9 * r.gpus_per_replica
                    * least(l.in_service, r.replicas) / l.in_service
            else 0e0
        end as gpu_seconds
    from levels as l
    inner join rates as r
        on l.partition_id = r.partition_id and l.moment >= r.since and l.moment < r.until
    union all
    select
        d.partition_id,
        d.until as moment,
        0e0 as gpu_seconds
    from days as d
),

virtual_time as (
    select
        partition_id,
        moment,
        sum(gpu_seconds) over (
            partition by partition_id
            order by moment
            rows unbounded preceding
        ) - gpu_seconds as v
    from charged_per_call
),

expected as (
    select
        s.partition_id,
        s.call_no,
        e.v - b.v as gpu_seconds
    from served as s
    inner join virtual_time as b on s.partition_id = b.partition_id and s.started_at = b.moment
    inner join virtual_time as e on s.partition_id = e.partition_id and s.ended_at = e.moment
),

stored as (
    select
        c.partition_id,
        c.call_no,
        sum(c.prefill_gpu_seconds + c.decode_gpu_seconds) as gpu_seconds
    from charges as c
    inner join asked as a on c.partition_id = a.partition_id
    group by c.partition_id, c.call_no
)

select
    coalesce(e.partition_id, s.partition_id) as partition_id,
    count(*) as call_count,
    max(abs(coalesce(e.gpu_seconds, 0e0) - coalesce(s.gpu_seconds, 0e0))) as worst_difference_s,
    abs(sum(coalesce(e.gpu_seconds, 0e0)) - sum(coalesce(s.gpu_seconds, 0e0)))
        as sum_difference_s
from expected as e
full outer join stored as s on e.partition_id = s.partition_id and e.call_no = s.call_no
group by coalesce(e.partition_id, s.partition_id)
order by partition_id
