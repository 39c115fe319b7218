-- Agents of tenants.

-- The tenant whose rows a transaction of agent_app may see. Raises an exception if none is set, so that a missing
-- setting causes an error instead of an empty result.
create function agent.current_tenant() returns uuid language plpgsql stable as $$
declare
  current text := current_setting('gatehouse.tenant_id', true);
begin
  -- On a reused connection the value is '' after a transaction-local setting ended; treat it as not set.
  if current is null or current = '' then
    raise exception 'no tenant is set for this transaction' using errcode = 'insufficient_privilege';
  end if;
  return current::uuid;
end
$$;

create table agent.agents (
  id uuid constraint agents_pkey primary key,
  tenant_id uuid not null,
  key text not null,
  name text not null,
  description text not null,
  model text not null,
  model_fallbacks text[] not null,
  system_prompt text not null,
  -- json instead of jsonb, because parameters are passed to providers unchanged.
  parameters json not null,
  tools json not null,
  memory json not null,
  visibility text not null constraint agents_visibility_check check (visibility in ('tenant', 'private')),
  owner_user_id text,
  status text not null constraint agents_status_check check (status in ('active', 'disabled')),
  metadata json not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint agents_tenant_id_key_key unique (tenant_id, key),
  constraint agents_owner_check check (visibility = 'tenant' or owner_user_id is not null)
);
create index agents_tenant_id_idx on agent.agents (tenant_id, id);

alter table agent.agents enable row level security;
alter table agent.agents force row level security;

create policy agents_app_select on agent.agents for select to agent_app
  using (tenant_id = agent.current_tenant());
create policy agents_app_insert on agent.agents for insert to agent_app
  with check (tenant_id = agent.current_tenant());
create policy agents_app_update on agent.agents for update to agent_app
  using (tenant_id = agent.current_tenant()) with check (tenant_id = agent.current_tenant());
create policy agents_app_delete on agent.agents for delete to agent_app
  using (tenant_id = agent.current_tenant());

grant usage on schema agent to agent_app, agent_system;
revoke execute on function agent.current_tenant() from public;
grant execute on function agent.current_tenant() to agent_app;
grant select, insert, delete on agent.agents to agent_app;
grant update (key, name, description, model, model_fallbacks, system_prompt, parameters, tools, memory, visibility,
  owner_user_id, status, metadata, updated_at) on agent.agents to agent_app;
grant select on agent.migrations to agent_app, agent_system;
