-- Which pool each cohort's calls are charged to, where that is not what the ledger says. A replay
-- occupies an engine of its own: only what it reports itself puts it into a configured pool. A
-- model is in one pool throughout an era of a cohort, so the era's beginning tells which.
create or replace temp table repooled_cohorts as
with resolved as (
    select
        c.cohort_id,
        c.pool as old_pool,
        case
            when c.pool_reported is not null then c.pool_reported
            when c.origin = 'production' and m.pool is not null then m.pool
            when c.origin = 'production' and q.pool is not null then q.pool
            when c.timing_source = 'engine' or c.origin = 'replay'
                then coalesce(c.model, c.model_requested, c.service, 'engine')
        end as new_pool
    from cohorts as c
    left join pool_models as m
        on
            c.model = m.model
            and c.pool_from >= m.since
            and (m.until is null or c.pool_from < m.until)
    left join pool_models as q
        on
            c.model_requested = q.model
            and c.pool_from >= q.since
            and (q.until is null or c.pool_from < q.until)
)

select *
from resolved
where old_pool is distinct from new_pool;
