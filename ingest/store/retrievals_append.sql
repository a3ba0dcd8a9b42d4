-- Retrieval spans of one chunk of traces join the others that wait.
insert into staged_retrievals by name
select * from arriving;
