-- The names of the groups of a run's user at its beginning; null without one.
alter table analytics.traces add column groups text[];
