-- name: partitions
-- question: Which partitions can be charged again from observed times alone?
-- grain: one replica (or pool of which replicas are not told) over one UTC day
-- unit: none
-- params: none
-- nulls: replica is null where only the pool is known
-- identity: no call of these pools has a length that is estimated, or a weight that changes at an
--   estimated first token
select p.partition_id
from charge_partitions as p
where
    p.pool is not null
    and not p.is_stale
    and p.pool not in (
        select c.pool
        from cohorts as c
        where c.pool is not null and c.timing_source = 'tokens'
    )
    and p.pool not in (
        select c.pool
        from call_rows as r
        inner join cohorts as c on r.cohort_id = c.cohort_id
        where
            r.n_choices > 1
            and r.first_token_at is null
            and r.output_tokens is distinct from 0
            and c.pool is not null
    )
order by p.partition_id
