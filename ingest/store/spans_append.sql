-- Spans of one batch join the others that wait.
insert into staged_spans by name
select * from arriving;
