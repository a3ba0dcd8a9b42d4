-- name: virtual_time
-- question: Does virtual time as window functions charge each call what is stored for it?
-- grain: one partition of those asked for
-- unit: GPU-seconds
-- params: $partition_ids are the partitions to charge again
-- nulls: none
-- identity: worst_difference_s and sum_difference_s are 0 to rounding

-- A call weighs 1 before its first token and its choices after it. On a known replica of G GPUs a
-- weight of 1 is charged G / (sum of weights) a second. With K of R replicas known to be busy, n
-- calls of unknown replica share min(n, R - K) others; with none left over they run beside the
-- known calls, the K-th part of their weight on each busy replica. So a domain is charged at once:
-- one partition, or all of a pool and day in which both kinds are. Rates cut the day.
with asked as (
    select explode($partition_ids) as partition_id
),

kinds as (
    select
        pool,
        day,
        min(partition_id) as first_id,
        count(replica) > 0 and count(replica) < count(*) as is_mixed
    from charge_partitions
    where pool is not null
    group by pool, day
),

domains as (
    select
        p.partition_id,
        p.pool,
        p.replica,
        p.day,
        case when k.is_mixed then k.first_id else p.partition_id end as domain_id
    from charge_partitions as p
    inner join kinds as k on p.pool = k.pool and p.day = k.day
),

days as (
    select
        partition_id,
        domain_id,
        pool,
        replica,
        case when replica is null then 0 else 1 end as is_known,
        cast(day as bigint) * 86400000000000 as since,
        (cast(day as bigint) + 1) * 86400000000000 as until
    from domains
    where
        domain_id in (
            select d.domain_id
            from domains as d
            inner join asked as a on d.partition_id = a.partition_id
        )
),

called as (
    select
        c.pool,
        r.replica,
        r.call_no,
        coalesce(r.started_at, r.arrived_at) as started_at,
        case when r.output_tokens = 0 then r.ended_at else r.first_token_at end as first_token_at,
        r.ended_at,
        greatest(coalesce(r.n_choices, 1), 1) as choices
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    where
        c.timing_quality = 'ok'
        -- a call that the server refused was not in service
        and (r.started_at is not null or r.http_status is distinct from 429 or r.output_tokens > 0)
),

served as (
    select
        d.partition_id,
        d.domain_id,
        d.is_known,
        r.call_no,
        r.choices,
        greatest(r.started_at, d.since) as started_at,
        case
            when r.choices > 1 then least(greatest(r.first_token_at, d.since), d.until)
            else greatest(r.started_at, d.since)
        end as decodes_at,
        least(r.ended_at, d.until) as ended_at
    from called as r
    inner join days as d on r.pool = d.pool and r.replica is not distinct from d.replica
    where r.started_at < d.until and r.ended_at > d.since
),

rates as (
    select
        d.partition_id,
        d.domain_id,
        d.is_known,
        greatest(p.effective_from, d.since) as since,
        least(coalesce(p.effective_to, d.until), d.until) as until,
        p.gpus_per_replica,
        greatest(coalesce(p.replicas, 1), 1) as replicas
    from days as d
    inner join pools as p on d.pool = p.pool
    where
        p.effective_from < d.until
        and (p.effective_to is null or p.effective_to > d.since)
),

steps as (
    select
        partition_id,
        domain_id,
        is_known,
        started_at as moment,
        1 as calls,
        1 as weight
    from served
    union all
    select
        partition_id,
        domain_id,
        is_known,
        decodes_at as moment,
        0 as calls,
        choices - 1 as weight
    from served
    where choices > 1
    union all
    select
        partition_id,
        domain_id,
        is_known,
        ended_at as moment,
        -1 as calls,
        -choices as weight
    from served
    union all
    select
        partition_id,
        domain_id,
        is_known,
        since as moment,
        0 as calls,
        0 as weight
    from rates
),

instants as (
    select
        partition_id,
        domain_id,
        is_known,
        moment,
        sum(calls) as calls,
        sum(weight) as weight
    from steps
    group by partition_id, domain_id, is_known, moment
),

in_service as (
    select
        *,
        sum(calls) over (
            partition by partition_id
            order by moment
            rows unbounded preceding
        ) as calls_after
    from instants
),

domain_instants as (
    select
        domain_id,
        moment,
        sum(
            is_known * (
                case when calls_after > 0 then 1 else 0 end
                - case when calls_after > calls then 1 else 0 end
            )
        ) as busy,
        sum((1 - is_known) * calls) as unknown_calls,
        sum((1 - is_known) * weight) as unknown_weight
    from in_service
    group by domain_id, moment
),

domain_levels as (
    select
        domain_id,
        moment,
        sum(busy) over (
            partition by domain_id
            order by moment
            rows unbounded preceding
        ) as busy,
        sum(unknown_calls) over (
            partition by domain_id
            order by moment
            rows unbounded preceding
        ) as unknown_calls,
        sum(unknown_weight) over (
            partition by domain_id
            order by moment
            rows unbounded preceding
        ) as unknown_weight
    from domain_instants
),

sizes as (
    select distinct
        domain_id,
        since,
        until,
        gpus_per_replica,
        replicas
    from rates
),

stretches as (
    select
        l.domain_id,
        l.moment,
        l.busy,
        s.gpus_per_replica,
        case
            when l.unknown_calls > 0 and s.replicas > l.busy
                then least(l.unknown_calls, s.replicas - l.busy) * 1e0 / l.unknown_weight
            else 0e0
        end as apart,
        case
            when l.unknown_calls > 0 and s.replicas <= l.busy
                then l.unknown_weight * 1e0 / l.busy
            else 0e0
        end as beside
    from domain_levels as l
    inner join sizes as s
        on l.domain_id = s.domain_id and l.moment >= s.since and l.moment < s.until
),

bounds as (
    select
        domain_id,
        moment,
        beside + lag(beside, 1, 0e0) over (
            partition by domain_id
            order by moment
        ) > 0 as is_beside
    from stretches
),

-- the rate of a known replica changes at its own instants, and where unknown calls run beside
moments as (
    select
        partition_id,
        domain_id,
        is_known,
        moment,
        weight
    from instants
    union all
    select
        d.partition_id,
        d.domain_id,
        d.is_known,
        b.moment,
        0 as weight
    from days as d
    inner join bounds as b on d.domain_id = b.domain_id and (b.is_beside or d.is_known = 0)
),

marks as (
    select
        partition_id,
        domain_id,
        is_known,
        moment,
        sum(weight) as weight
    from moments
    group by partition_id, domain_id, is_known, moment
),

levels as (
    select
        partition_id,
        domain_id,
        is_known,
        moment,
        sum(weight) over (
            partition by partition_id
            order by moment
            rows unbounded preceding
        ) as weight,
        lead(moment) over (
            partition by partition_id
            order by moment
        ) - moment as lasts
    from marks
),

known_rates as (
    select
        l.partition_id,
        l.domain_id,
        l.moment,
        l.lasts,
        s.gpus_per_replica,
        s.beside,
        s.busy,
        case when l.weight > 0 then 1e0 / (l.weight + s.beside) else 0e0 end as rate
    from levels as l
    inner join stretches as s on l.domain_id = s.domain_id and l.moment = s.moment
    where l.is_known = 1
),

beside_rates as (
    select
        domain_id,
        moment,
        sum(rate / busy) as rate
    from known_rates
    where beside > 0
    group by domain_id, moment
),

weight_rates as (
    select
        partition_id,
        moment,
        lasts,
        gpus_per_replica * rate as rate
    from known_rates
    union all
    select
        l.partition_id,
        l.moment,
        l.lasts,
        s.gpus_per_replica * (s.apart + coalesce(b.rate, 0e0)) as rate
    from levels as l
    inner join stretches as s on l.domain_id = s.domain_id and l.moment = s.moment
    left join beside_rates as b on l.domain_id = b.domain_id and l.moment = b.moment
    where l.is_known = 0
),

charged_per_weight as (
    select
        partition_id,
        moment,
        case when lasts > 0 then lasts / 1e9 * rate else 0e0 end as gpu_seconds
    from weight_rates
    union all
    select
        partition_id,
        until as moment,
        0e0 as gpu_seconds
    from days
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
    from charged_per_weight
),

expected as (
    select
        s.partition_id,
        s.call_no,
        m.v - b.v + s.choices * (e.v - m.v) as gpu_seconds
    from served as s
    inner join asked as a on s.partition_id = a.partition_id
    inner join virtual_time as b on s.partition_id = b.partition_id and s.started_at = b.moment
    inner join virtual_time as m on s.partition_id = m.partition_id and s.decodes_at = m.moment
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
