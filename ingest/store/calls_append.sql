-- Calls of one batch join the others that wait.
insert into staged_calls by name
select * from arriving;
