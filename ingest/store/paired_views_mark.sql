-- Views that some pair names.
create or replace temp table paired_views as
select call_id from arriving;
