-- Users as sets of bits, so that counting the users of a month needs no list of them.

-- The subselect makes row-level security call the function once per statement instead of once per row, and `parallel
-- safe` allows parallel workers.
alter function analytics.current_tenant() parallel safe;
alter policy traces_app_select on analytics.traces using (tenant_id = (select analytics.current_tenant()));
alter policy usage_app_select on analytics.usage using (tenant_id = (select analytics.current_tenant()));
alter policy usage_totals_app_select on analytics.usage_totals
  using (tenant_id = (select analytics.current_tenant()));

-- The number of user numbers assigned in a tenant. A few may be unused.
create table analytics.user_counters (
  tenant_id uuid constraint user_counters_pkey primary key,
  taken integer not null
);

-- User numbers from 0 on, without large gaps: bit positions in the sets.
create table analytics.users (
  tenant_id uuid not null,
  user_id text not null,
  number integer not null,
  constraint users_pkey primary key (tenant_id, user_id)
);

-- Users of a row of `usage_totals`: one bit set for each 1,024 user numbers with at least one user.
create table analytics.usage_users (
  tenant_id uuid not null,
  bucket timestamptz not null,
  agent_id uuid,
  model text not null,
  provider text not null,
  channel text not null,
  -- User n is bit n % 1024 of chunk n / 1024.
  chunk integer not null,
  users bit(1024) not null,
  constraint usage_users_key unique nulls not distinct (tenant_id, bucket, model, agent_id, provider, channel, chunk)
) with (fillfactor = 70);

create function analytics.user_bit(number integer) returns bit(1024) language sql immutable strict parallel safe as $$
  select set_bit(repeat('0', 1024)::bit(1024), number % 1024, 1)
$$;

lock table analytics.usage in access exclusive mode;
-- Forced row-level security would hide every row from an owner without superuser rights.
alter table analytics.usage no force row level security;
insert into analytics.users (tenant_id, user_id, number)
select tenant_id, user_id, row_number() over (partition by tenant_id order by user_id) - 1
from (select distinct tenant_id, user_id from analytics.usage where user_id is not null) as known;
insert into analytics.user_counters (tenant_id, taken)
select tenant_id, count(*) from analytics.users group by tenant_id;
insert into analytics.usage_users (tenant_id, bucket, agent_id, model, provider, channel, chunk, users)
select u.tenant_id, u.bucket, u.agent_id, u.model, u.provider, u.channel, n.number / 1024,
       bit_or(analytics.user_bit(n.number))
from analytics.usage u join analytics.users n using (tenant_id, user_id)
group by u.tenant_id, u.bucket, u.agent_id, u.model, u.provider, u.channel, n.number / 1024;
alter table analytics.usage force row level security;

alter table analytics.user_counters enable row level security;
alter table analytics.user_counters force row level security;
alter table analytics.users enable row level security;
alter table analytics.users force row level security;
alter table analytics.usage_users enable row level security;
alter table analytics.usage_users force row level security;
create policy user_counters_system_select on analytics.user_counters for select to analytics_system using (true);
create policy user_counters_system_insert on analytics.user_counters for insert to analytics_system with check (true);
create policy user_counters_system_update on analytics.user_counters for update to analytics_system
  using (true) with check (true);
create policy users_app_select on analytics.users for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy users_system_select on analytics.users for select to analytics_system using (true);
create policy users_system_insert on analytics.users for insert to analytics_system with check (true);
create policy usage_users_app_select on analytics.usage_users for select to analytics_app
  using (tenant_id = (select analytics.current_tenant()));
create policy usage_users_system_select on analytics.usage_users for select to analytics_system using (true);
create policy usage_users_system_insert on analytics.usage_users for insert to analytics_system with check (true);
create policy usage_users_system_update on analytics.usage_users for update to analytics_system
  using (true) with check (true);
grant select, insert, update on analytics.user_counters to analytics_system;
grant select on analytics.users to analytics_app;
grant select, insert on analytics.users to analytics_system;
grant select on analytics.usage_users to analytics_app;
grant select, insert, update on analytics.usage_users to analytics_system;
