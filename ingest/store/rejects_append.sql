-- Records that could not be taken, with the reason of each.
insert into rejects by name
select
    *,
    cast($delivery_id as bigint) as delivery_id
from arriving;
