-- Groups of views that do not hold any more, by the id of their call.
create or replace temp table broken_groups as
select call_id from arriving;
