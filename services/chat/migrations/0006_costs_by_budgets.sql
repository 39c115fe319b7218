-- The charged estimate, by the budgets of the calls: [{charges, cost_pico}]. Null in notes of the previous
-- release, which charged all of it to those of the run.
alter table chat.interrupted_runs add column costs json;
