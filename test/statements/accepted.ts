/** A problem that is none: of the statements of a file that begin like this. */
export interface Accepted {
  file: string;
  begins: string;
  problem: string;
  reason: string;
}

const chat = 'services/chat/src/store';
const waiting = 'has a row for each run under way or just ended; an index on it would cost every run';

/** Statements that rightly read a whole table, or compare all with all of few. An entry that no longer applies fails. */
export const accepted: readonly Accepted[] = [
  {
    file: 'services/agent/src/store/sealed-store.ts',
    begins: 'select tenant_id as "tenantId", $3 as "table"',
    problem: 'reads all of agent.',
    reason: 'once an hour, looks for secrets under an old key among those of all tenants',
  },
  {
    file: 'services/tenant/src/store/lease-system-store.ts',
    begins: 'select id, timezone from tenant.tenants',
    problem: 'until its limit reads all of tenant.tenants',
    reason: 'once an hour, checks the time zones of all tenants',
  },
  {
    file: 'services/webhook/src/store/transfer-store.ts',
    begins: 'select i.id, i.name, o.id as "otherId"',
    problem: 'compares all with all: ((o.id <> i.id)',
    reason: 'channels of one tenant, when an admin previews their transfer',
  },
  {
    file: 'services/memory/src/store/import-system-store.ts',
    begins: 'select tenant_id as "tenantId", agent_id as "agentId", generation from memory.imports',
    problem: 'until its limit reads all of memory.imports',
    reason: 'the table has a row for each import under way',
  },
  {
    file: `${chat}/forget-system-store.ts`,
    begins: 'select id, tenant_id, (extract(epoch from started_at)',
    problem: 'reads all of chat.open_runs',
    reason: `the table ${waiting}`,
  },
  {
    file: `${chat}/open-run-system-store.ts`,
    begins: 'select count(*)::integer as count from chat.open_runs',
    problem: 'reads all of chat.open_runs',
    reason: `the table ${waiting}`,
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
    file: `${chat}/run-system-store.ts`,
    begins: 'with alive as (',
    problem: 'compares all with all: (r.id = i_1.id)',
    reason: 'a group has 256 runs at most',
  },
  {
    file: `${chat}/run-end-system-store.ts`,
    begins: 'with input as (',
    problem: 'compares all with all: (kept.run_id = ended',
    reason: 'a group has 256 runs at most',
  },
];
