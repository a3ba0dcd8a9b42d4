-- Calls of one batch join the others that wait.
insert into staged_calls by name
select
    *,
    cast($delivery_id as bigint) as delivery_id
from arriving;
