-- Rejects of one part, in the order of the source.
with part as (
    select row_no from held_parts
    where kind = 'rejects' and part_no = $part_no
)

select h.*
from held_rejects as h
semi join part as p on h.rowid = p.row_no
order by h.rowid;
