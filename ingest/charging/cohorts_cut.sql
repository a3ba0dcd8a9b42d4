-- Each combination of what calls have in common gets one cohort for each era of its pools: for each
-- stretch between two instants at which its model, or the model asked for, changes its pool. Only a
-- production call that names no pool is in the pool of its model. Cohorts of eras that are gone
-- still have their calls afterwards, and new cohorts have none: cohorts_move.sql moves them.
create or replace temp table wanted_eras as
with moving_models as (
    select
        model,
        since
    from pool_models
    where since > 0
),

combinations as (
    select distinct
        digest,
        model,
        model_requested,
        origin = 'production' and pool_reported is null as is_by_model
    from cohorts
    where
        pool_from > 0
        or pool_until is not null
        or model in (select m.model from moving_models as m)
        or model_requested in (select m.model from moving_models as m)
),

cuts as (
    select
        digest,
        0 as pool_from
    from combinations
    union
    select
        c.digest,
        m.since as pool_from
    from combinations as c
    inner join moving_models as m on c.model = m.model
    where c.is_by_model
    union
    select
        c.digest,
        m.since as pool_from
    from combinations as c
    inner join moving_models as m on c.model_requested = m.model
    where c.is_by_model
)

select
    digest,
    pool_from,
    lead(pool_from) over (
        partition by digest
        order by pool_from
    ) as pool_until
from cuts;

-- An era that is gone leaves one before it that ends elsewhere, or has begun elsewhere.
create or replace temp table recut_combinations as
select distinct w.digest
from wanted_eras as w
anti join cohorts as c
    on
        w.digest = c.digest
        and w.pool_from = c.pool_from
        and w.pool_until is not distinct from c.pool_until;

insert into cohorts by name
with last_cohort as (
    select max(cohort_id) as cohort_id from cohorts
),

new_eras as (
    select w.*
    from wanted_eras as w
    semi join recut_combinations as r on w.digest = r.digest
    anti join cohorts as c on w.digest = c.digest and w.pool_from = c.pool_from
)

select
    c.* exclude (cohort_id, pool, pool_from, pool_until),
    e.pool_from,
    e.pool_until,
    l.cohort_id + row_number() over (order by e.digest, e.pool_from) as cohort_id
from new_eras as e
inner join cohorts as c on e.digest = c.digest and c.pool_from = 0
cross join last_cohort as l;

update cohorts as c
set pool_until = w.pool_until
from wanted_eras as w
where
    c.digest = w.digest
    and c.pool_from = w.pool_from
    and c.pool_until is distinct from w.pool_until;

create or replace temp table ended_cohorts as
select c.cohort_id
from cohorts as c
semi join recut_combinations as r on c.digest = r.digest
anti join wanted_eras as w on c.digest = w.digest and c.pool_from = w.pool_from;

-- Where calls of a cohort go that begin in another era than its own.
create or replace temp table era_moves as
select
    c.cohort_id,
    w.cohort_id as era_cohort_id,
    w.pool_from,
    w.pool_until
from cohorts as c
semi join recut_combinations as r on c.digest = r.digest
inner join cohorts as w on c.digest = w.digest and c.cohort_id <> w.cohort_id
anti join ended_cohorts as e on w.cohort_id = e.cohort_id;

drop table wanted_eras;

drop table recut_combinations;
