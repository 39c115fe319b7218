/** A problem that is none: of the statements of a file that begin like this. */
export interface Accepted {
  file: string;
  begins: string;
  problem: string;
  reason: string;
}

const chat = 'services/chat/src/recording';
const logged = 'the log has what was written in the last second, and runs under way';
const waiting = 'has a row for each run of a process that died, and an index on it would cost each';

/** Statements that rightly read a whole table, or compare all with all of few. An entry that no longer applies fails. */
export const accepted: readonly Accepted[] = [
  {
    file: 'services/tenant/src/limits/limit-system-store.ts',
    begins: 'select id, budget_timezone as timezone from tenant.tenants',
    problem: 'until its limit reads all of tenant.tenants',
    reason: 'once an hour, checks the time zones of all tenants',
  },
  {
    file: 'services/tenant/src/policies/policy-system-store.ts',
    begins: 'select t.id as "tenantId", p.tenant_id is null as "fromOwner"',
    problem: 'compares all with all: (policies_1.enabled AND',
    reason: 'the owner has 8 policies at most',
  },
  {
    file: 'services/tenant/src/guardrails/guardrail-system-store.ts',
    begins: 'select t.id as "tenantId", g.tenant_id is null as "fromOwner"',
    problem: 'compares all with all: (guardrails_1.enabled AND',
    reason: 'the owner has 8 guardrails at most',
  },
  {
    file: 'services/analytics/src/daily-rollups/daily-rollup-system-pg-store.ts',
    begins: "update analytics.settled_days set state = 'changed', hours = 0, cut_hours = 0",
    problem: 'compares all with all: ((CASE WHEN',
    reason: 'looks for a midnight at three times of each day of one tenant',
  },
  {
    file: 'services/webhook/src/transfers/transfer-store.ts',
    begins: 'select i.id, i.name, o.id as "otherId"',
    problem: 'compares all with all: ((o.id <> i.id)',
    reason: 'a tenant has 100 channels at most',
  },
  {
    file: 'services/memory/src/store/imports/import-system-store.ts',
    begins: 'select tenant_id as "tenantId", agent_id as "agentId", generation from memory.imports',
    problem: 'until its limit reads all of memory.imports',
    reason: 'the table has a row for each import under way',
  },
  {
    file: 'services/chat/src/catalogue/price-list-system-store.ts',
    begins: 'delete from chat.price_lists',
    problem: 'reads all of chat.price_lists',
    reason: 'the table keeps 20 lists',
  },
  {
    file: `${chat}/forget-system-store.ts`,
    begins: 'select id, tenant_id as "tenantId", (extract(epoch from started_at)',
    problem: 'reads all of chat.open_runs',
    reason: `the table ${waiting}`,
  },
  {
    file: `${chat}/forget-system-store.ts`,
    begins: 'select tenant_id as "tenantId", user_digest as digest, (extract(epoch from',
    problem: 'reads all of chat.forgotten_users',
    reason: 'once an hour, for the deletions of 30 days, which are all that the table keeps',
  },
  {
    file: 'services/analytics/src/forgetting/forget-system-pg-store.ts',
    begins: 'select tenant_id as "tenantId", user_digest as digest, least(requested_at, created_at)',
    problem: 'reads all of analytics.forgotten_users',
    reason: 'once an hour, for the deletions of 30 days, which are all that the table keeps',
  },
  {
    file: `${chat}/run-log-system-store.ts`,
    begins: 'select id from chat.logged_runs',
    problem: 'compares all with all: (t',
    reason: 'reads the log of one dead process once',
  },
  {
    file: `${chat}/run-log-system-store.ts`,
    begins: 'insert into chat.outbox_dead_letters',
    problem: 'compares all with all: (t',
    reason: 'reads the log of one dead process for a run that the database refuses',
  },
  {
    file: 'services/tenant/src/keys/personal-key-store.ts',
    begins: 'with parent as (',
    problem: 'compares all with all: ((api_keys_1.secret_sha256 =',
    reason: 'compares one key with one session, each by its id',
  },
  {
    file: `${chat}/orphan-system-store.ts`,
    begins: 'select count(*)::integer as count from chat.runs_under_way',
    problem: 'reads all of chat.',
    reason: logged,
  },
  {
    file: `${chat}/orphan-system-store.ts`,
    begins: 'select run from chat.runs_under_way',
    problem: 'reads all of chat.',
    reason: logged,
  },
  {
    file: `${chat}/forget-system-store.ts`,
    begins: 'select id, tenant_id as "tenantId", (extract(epoch from started_at)',
    problem: 'reads all of chat.run_log',
    reason: logged,
  },
  {
    file: `${chat}/forget-system-store.ts`,
    begins: 'update chat.run_log set',
    problem: 'reads all of chat.run_log',
    reason: logged,
  },
  {
    file: `${chat}/outbox-system-store.ts`,
    begins: 'select min(l.written_at)',
    problem: 'reads all of chat.run_log',
    reason: logged,
  },
  {
    file: `${chat}/orphan-system-store.ts`,
    begins: 'select id, started_at, least(',
    problem: 'until its limit reads all of chat.open_runs',
    reason: `the table ${waiting}`,
  },
  {
    file: `${chat}/settlement-system-store.ts`,
    begins: 'with due as (',
    problem: 'until its limit reads all of chat.run_costs',
    reason: `the table ${waiting}`,
  },
  {
    file: `${chat}/settlement-system-store.ts`,
    begins: 'select i.id from chat.instances i',
    problem: 'reads all of chat.',
    reason: `each of the tables ${waiting}`,
  },
  {
    file: `${chat}/run-log-system-store.ts`,
    begins: 'with instance as (',
    problem: 'compares all with all: (kept.run_id =',
    reason: 'a group has 256 runs at most',
  },
  {
    file: `${chat}/run-log-system-store.ts`,
    begins: 'with runs as (',
    problem: 'compares all with all: (t',
    reason: 'sorts the runs of one log instead if it has more than a few rows',
  },
  {
    file: `${chat}/orphan-system-store.ts`,
    begins: 'select count(*)::integer as count from chat.runs_under_way',
    problem: 'compares all with all: (t.id = s.id)',
    reason: 'compares the runs of one tenant in the log with all in it, and sorts both if there are many',
  },
];

/** SQL of a file that no test in this process sends as a role of a service. An entry that no longer applies fails. */
export const sentElsewhere: readonly { file: string; begins: string; reason: string }[] = [
  {
    file: 'packages/jobs/src/store/schema-store.ts',
    begins: 'create ',
    reason: 'the migration step sends it as the owner',
  },
  {
    file: 'packages/jobs/src/store/schema-store.ts',
    begins: 'insert into',
    reason: 'the migration step sends it as the owner',
  },
  {
    file: 'packages/jobs/src/store/schema-store.ts',
    begins: 'alter table',
    reason: 'the migration step sends it as the owner',
  },
  {
    file: 'packages/jobs/src/store/schema-store.ts',
    begins: 'select from pg_policies',
    reason: 'the migration step sends it as the owner',
  },
  {
    file: 'packages/jobs/src/store/schema-store.ts',
    begins: 'select quote_ident(relname)',
    reason: 'the migration step sends it as the owner',
  },
  {
    file: 'services/tenant/src/keys/api-key-system-store.ts',
    begins: "select pg_advisory_xact_lock(hashtextextended('gatehouse.tenant.bootstrap'",
    reason: 'the bootstrap command is a process of its own',
  },
  {
    file: 'services/memory/src/store/search/half-vector-store.ts',
    begins: '',
    reason: 'needs pgvector: `make test-outside` sends it',
  },
  {
    file: 'services/memory/src/store/search/vector-store.ts',
    begins: "select set_config('hnsw",
    reason: 'needs pgvector: `make test-outside` sends it',
  },
];
