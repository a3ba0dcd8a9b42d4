-- Views that are to be linked; once their call is made, with its id and the rule.
create or replace temp table linked_views as
select * from arriving;
