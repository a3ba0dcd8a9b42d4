-- name: deliveries
-- question: Is every record that was read new, a duplicate, or rejected with a reason?
-- grain: the ledger
-- unit: records
-- params: none
-- nulls: none
-- identity: read_count = new_count + duplicate_count + rejected_count; each reject has a row
with counted as (
    select
        cast(coalesce(sum(read_count), 0) as bigint) as read_count,
        cast(coalesce(sum(new_count), 0) as bigint) as new_count,
        cast(coalesce(sum(duplicate_count), 0) as bigint) as duplicate_count,
        cast(coalesce(sum(rejected_count), 0) as bigint) as rejected_count,
        cast(coalesce(sum(conflict_count), 0) as bigint) as conflict_count,
        count(*) as delivery_count
    from deliveries
),

kept as (
    select count(*) as reject_row_count from rejects
)

select
    c.*,
    k.reject_row_count
from counted as c
cross join kept as k
