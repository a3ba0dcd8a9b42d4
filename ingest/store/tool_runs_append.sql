-- Tool spans of one chunk of traces join the others that wait.
insert into staged_tool_runs by name
select * from arriving;
