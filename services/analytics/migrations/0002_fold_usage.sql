-- A fold adds the runs of about a minute to the roll-ups, a row for each key instead of one for each run. Until then,
-- summaries read these runs from `traces`.

create table analytics.folds (
  id smallint constraint folds_pkey primary key constraint folds_id_check check (id = 1),
  -- The fold that runs get when their end is stored.
  current_fold bigint not null,
  -- The roll-ups have all folds up to this one.
  folded_to bigint not null,
  -- The time at which the current fold began.
  closed_at timestamptz not null default now()
);
insert into analytics.folds (id, current_fold, folded_to) values (1, 1, 0);

alter table analytics.folds enable row level security;
alter table analytics.folds force row level security;
-- The numbers reveal nothing about runs, so every tenant may see them.
create policy folds_app_select on analytics.folds for select to analytics_app using (true);
create policy folds_system_select on analytics.folds for select to analytics_system using (true);
create policy folds_system_update on analytics.folds for update to analytics_system using (true) with check (true);
grant select on analytics.folds to analytics_app;
grant select, update on analytics.folds to analytics_system;

-- Null for runs that have not ended or called no provider, and for those that version 0.3.0 stores: it adds them to the
-- roll-ups at once.
alter table analytics.traces add column fold bigint;

-- Version 0.3.0 corrects a run in the roll-ups, which must have the run: it tries again until the fold is done.
create function analytics.refuse_early_correction() returns trigger language plpgsql as $$
begin
  if current_setting('gatehouse.folds', true) is distinct from 'on'
    and old.fold > (select folded_to from analytics.folds) then
    raise exception 'the run is not in the roll-ups yet' using errcode = 'serialization_failure';
  end if;
  return new;
end
$$;
revoke execute on function analytics.refuse_early_correction() from public;

create trigger traces_refuse_early_correction before update on analytics.traces for each row
  when (new.corrected and not old.corrected and old.fold is not null)
  execute function analytics.refuse_early_correction();
