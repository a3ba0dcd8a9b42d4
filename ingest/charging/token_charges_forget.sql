-- On stale days: the costs of calls that are gone, or that are charged by GPU-seconds now.
delete from token_charges
where rowid in (
    with stale_charges as (
        select
            t.rowid as row_no,
            t.call_no,
            t.cohort_id
        from token_charges as t
        semi join charge_partitions as p
            on t.partition_id = p.partition_id and p.is_stale
    ),

    rented_calls as (
        select r.call_no
        from call_rows as r
        semi join rented_cohorts as c on r.cohort_id = c.cohort_id
    )

    select s.row_no
    from stale_charges as s
    anti join rented_calls as r on s.call_no = r.call_no
);
