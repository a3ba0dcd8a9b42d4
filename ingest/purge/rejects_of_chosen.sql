-- Rejected records that name a chosen trace or user.
delete from rejects
where rowid in (
    with names as (
        select unnest(list_concat($traces, $users)) as name
    )

    select r.rowid
    from rejects as r
    cross join names as n
    where contains(coalesce(r.record, '') || ' ' || r.position || ' ' || r.reason, n.name)
);
