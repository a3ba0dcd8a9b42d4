-- The pools of cohorts.
select distinct pool from cohorts
where pool is not null;
