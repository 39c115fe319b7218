-- Administrative changes of every service. Rows are only inserted.

create table tenant.audit_log (
  -- For changes made in another service, also the id of the event, so that repeated events are stored once.
  id uuid constraint audit_log_pkey primary key,
  at timestamptz not null default now(),
  action text not null,
  -- Null for the platform itself.
  actor_key_id uuid,
  actor_role text not null,
  actor_user_id text,
  -- Null for resources without a tenant.
  tenant_id uuid,
  resource_type text not null,
  resource_id uuid not null,
  client_ip text,
  request_id text,
  -- Public views of the resource.
  before json,
  after json
);
create index audit_log_at_idx on tenant.audit_log (at, id);
create index audit_log_tenant_id_idx on tenant.audit_log (tenant_id, at, id);
create index audit_log_actor_idx on tenant.audit_log (actor_key_id, at, id);

-- Events that could not be read or stored, with the reason.
create table tenant.dead_letters (
  id uuid constraint dead_letters_pkey primary key,
  received_at timestamptz not null default now(),
  -- The topic, partition and offset; or the sending service.
  origin text not null,
  reason text not null,
  payload bytea not null
);

-- Changes made in this service that are not yet published. Used only with Kafka.
create table tenant.audit_outbox (
  id bigint generated always as identity constraint audit_outbox_pkey primary key,
  partition integer not null,
  tenant_id uuid,
  -- The time of the entry, and of everything that its transaction wrote.
  occurred_at timestamptz not null default now(),
  -- The entry without its time.
  entry json not null
);

alter table tenant.audit_log enable row level security;
alter table tenant.audit_log force row level security;
alter table tenant.dead_letters enable row level security;
alter table tenant.dead_letters force row level security;
alter table tenant.audit_outbox enable row level security;
alter table tenant.audit_outbox force row level security;

create policy audit_log_app_insert on tenant.audit_log for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy audit_log_system_select on tenant.audit_log for select to tenant_system using (true);
create policy audit_log_system_insert on tenant.audit_log for insert to tenant_system with check (true);
create policy dead_letters_system_select on tenant.dead_letters for select to tenant_system using (true);
create policy dead_letters_system_insert on tenant.dead_letters for insert to tenant_system with check (true);
create policy audit_outbox_app_insert on tenant.audit_outbox for insert to tenant_app
  with check (tenant_id = tenant.current_tenant());
create policy audit_outbox_system_select on tenant.audit_outbox for select to tenant_system using (true);
create policy audit_outbox_system_insert on tenant.audit_outbox for insert to tenant_system with check (true);
create policy audit_outbox_system_delete on tenant.audit_outbox for delete to tenant_system using (true);

grant insert on tenant.audit_log, tenant.audit_outbox to tenant_app;
grant select, insert on tenant.audit_log, tenant.dead_letters to tenant_system;
grant select, insert, delete on tenant.audit_outbox to tenant_system;
