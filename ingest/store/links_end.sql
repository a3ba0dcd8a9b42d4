-- The links are made; what they were made with is not needed any more.
insert into touched_calls
select * from relinked_calls;

drop table broken_groups;
drop table relinked_calls;
drop table restored_calls;
drop table changed_calls;
drop table if exists link_candidates;
drop table if exists link_evidence;
drop table if exists paired_views;
drop table if exists linked_views;
