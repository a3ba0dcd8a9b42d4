-- Combinations of which no call, view of a call, charge or sum is left.
delete from cohorts
where digest not in (
    select c.digest
    from cohorts as c
    where
        c.cohort_id in (select cohort_id from call_rows)
        or c.digest in (select cohort_digest from call_views)
        or c.cohort_id in (select cohort_id from charges)
        or c.cohort_id in (select cohort_id from charge_sums)
        or c.cohort_id in (select cohort_id from token_charges)
);
