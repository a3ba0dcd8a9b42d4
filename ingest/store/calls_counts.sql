-- What became of the records of calls: read, new, of other content than the ledger's.
with contested as (
    select
        coalesce(sum(staged_count), 0) as read_count,
        count(*) filter (where row_no is null) as new_count,
        coalesce(sum(conflict_count), 0) as conflict_count
    from record_winners
),

differing as (
    select count(*) as conflict_count
    from spoken_for as s
    anti join call_rows as r on s.call_id = r.call_id and s.digest = r.digest
),

spoken as (
    select count(*) as read_count from spoken_for
)

select
    c.read_count + s.read_count as read_count,
    c.new_count,
    c.conflict_count + d.conflict_count as conflict_count
from contested as c
cross join differing as d
cross join spoken as s;
