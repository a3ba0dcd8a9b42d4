-- The cohorts of the calls of one part.
with part as (
    select row_no from held_parts
    where kind = 'calls' and part_no = $part_no
),

of_calls as (
    select h.cohort_digest
    from held_calls as h
    semi join part as p on h.rowid = p.row_no
)

select h.*
from held_cohorts as h
semi join of_calls as c on h.digest = c.cohort_digest;
