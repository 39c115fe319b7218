-- Whether a provider was called for the run. A run whose calls were all abandoned before they were sent does not count
-- as a request.
alter table analytics.traces add column called boolean;
-- Forced row-level security would hide every row from an owner without superuser rights.
alter table analytics.traces no force row level security;
update analytics.traces set called = true where ended_at is not null;
alter table analytics.traces force row level security;
