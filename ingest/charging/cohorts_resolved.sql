-- Cohorts are in the pools of the configuration; what told which is not needed any more.
drop table ended_cohorts;
drop table era_moves;
drop table repooled_cohorts;
