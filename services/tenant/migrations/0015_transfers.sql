-- Transfers of resources between two tenants. Kept for a year after their end.
create table tenant.transfers (
  id uuid constraint transfers_pkey primary key,
  preview_id uuid not null constraint transfers_preview_id_key unique,
  source_tenant_id uuid not null
    constraint transfers_source_tenant_id_fkey references tenant.tenants (id),
  target_tenant_id uuid not null
    constraint transfers_target_tenant_id_fkey references tenant.tenants (id),
  mode text not null constraint transfers_mode_check check (mode in ('copy', 'move')),
  -- What services are sent: {includeMemory, includeKnowledgeGraph, withSecrets, items}
  content json not null,
  phase text not null constraint transfers_phase_check
    check (phase in ('locking', 'copying', 'closing', 'committing', 'aborting', 'completed', 'failed')),
  -- When the phase began.
  phase_at timestamptz not null default now(),
  -- {code, message}: why it is undone.
  error json,
  -- The request that began it: {actor, clientIp, requestId}
  asked json not null,
  -- When a job last worked on it.
  attempted_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  finished_at timestamptz
);
create index transfers_source_tenant_id_idx on tenant.transfers (source_tenant_id, id);
create index transfers_target_tenant_id_idx on tenant.transfers (target_tenant_id, id);
create index transfers_running_idx on tenant.transfers (attempted_at) where finished_at is null;
create index transfers_finished_at_idx on tenant.transfers (finished_at) where finished_at is not null;

-- What transfers under way use: of two transfers with the same resource, one is refused.
create table tenant.transfer_resources (
  resource_id uuid constraint transfer_resources_pkey primary key,
  transfer_id uuid not null
    constraint transfer_resources_transfer_id_fkey references tenant.transfers on delete cascade,
  -- Of the source.
  tenant_id uuid not null
);
create index transfer_resources_transfer_id_idx on tenant.transfer_resources (transfer_id);

alter table tenant.transfers enable row level security;
alter table tenant.transfers force row level security;
alter table tenant.transfer_resources enable row level security;
alter table tenant.transfer_resources force row level security;

create policy transfers_app_select on tenant.transfers for select to tenant_app
  using (tenant.current_tenant() in (source_tenant_id, target_tenant_id));
create policy transfers_app_insert on tenant.transfers for insert to tenant_app
  with check (source_tenant_id = tenant.current_tenant());
create policy transfers_system_select on tenant.transfers for select to tenant_system using (true);
create policy transfers_system_insert on tenant.transfers for insert to tenant_system with check (true);
create policy transfers_system_update on tenant.transfers for update to tenant_system using (true) with check (true);
create policy transfers_system_delete on tenant.transfers for delete to tenant_system
  using (finished_at < now() - interval '1 year');
create policy transfer_resources_app_insert on tenant.transfer_resources for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy transfer_resources_system_select on tenant.transfer_resources for select to tenant_system using (true);
create policy transfer_resources_system_insert on tenant.transfer_resources for insert to tenant_system
  with check (true);
create policy transfer_resources_system_delete on tenant.transfer_resources for delete to tenant_system using (true);

grant select, insert on tenant.transfers to tenant_app;
grant select, insert, delete on tenant.transfers to tenant_system;
grant update (phase, phase_at, error, attempted_at, finished_at) on tenant.transfers to tenant_system;
grant insert on tenant.transfer_resources to tenant_app;
grant select, insert, delete on tenant.transfer_resources to tenant_system;
