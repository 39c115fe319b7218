import type { Client } from 'pg';
import type { SentStatement, SentValue, StatementSample } from '../support/statement-record.ts';
import type { Catalogue, Index, PlanNode } from './judge.ts';
import { uuidOf } from './ground.ts';

/** Elements that stand for those of a large array. */
const manyElements = 500;
const longestArray = 500_000;

/** Whether a statement has a plan; a cursor has that of its query. */
export function hasPlan(text: string): boolean {
  return /^\s*(select|insert|update|delete|with|merge|declare)\b/i.test(text);
}

export interface ExplainOptions {
  /** Repeats the elements of arrays. */
  large?: boolean;
  /** Uses indexes wherever they can be used. */
  withIndexes?: boolean;
}

/**
 * The plan of a sample as the role that sent it, for one of the tenants of the ground: with its values, as PostgreSQL
 * plans statements of clients, and the policies.
 */
export async function explain(
  client: Client,
  sample: StatementSample,
  { large = false, withIndexes = false }: ExplainOptions = {},
): Promise<PlanNode> {
  await client.query('begin');
  try {
    await client.query(`set local role ${client.escapeIdentifier(sample.role)}`);
    await client.query(`select set_config('gatehouse.tenant_id', ${uuidOf('7')}::text, true)`);
    for (const setting of sample.startUp) await client.query(`set local ${setting}`);
    if (withIndexes) await client.query('set local enable_seqscan = off');
    for (const { text, values } of sample.settings.filter((each) => !isTenant(each)))
      await client.query(text, values === null ? [] : values.map(given));
    const isGeneric = sample.values === null || sample.startUp.includes('plan_cache_mode=force_generic_plan');
    const options = `verbose, format json${isGeneric ? ', generic_plan' : ''}`;
    const values = isGeneric ? [] : withUsualLimits(sample.text, sample.values ?? []);
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (${options}) ${sample.text}`,
      (large ? enlarged(values) : values).map(given),
    );
    const [row] = rows;
    if (row === undefined) throw new Error('there is no plan');
    return row['QUERY PLAN'][0].Plan;
  } finally {
    await client.query('rollback');
  }
}

/** In place of a limit that a test chooses: plans change with it, and the ground's tables are small for large ones. */
const usualLimit = '100';

function withUsualLimits(text: string, values: readonly SentValue[]): SentValue[] {
  const limits = new Set(Array.from(text.matchAll(/\blimit \$(\d+)/gi), ([, place]) => Number(place) - 1));
  return values.map((value, index) => (limits.has(index) && value !== null ? usualLimit : value));
}

/** Whether PostgreSQL plans a sample by the length of its arrays: of some elements, or of none. */
export function arraysOf({ text, values }: StatementSample): 'some' | 'empty' | 'none' {
  if (values === null) return 'none';
  if (values.some(isArray)) return 'some';
  return values.includes('{}') && /\[\]|\bany\b/.test(text) ? 'empty' : 'none';
}

/** The tenants of the tests have no rows in the ground. */
function isTenant({ text }: SentStatement): boolean {
  return text.includes('gatehouse.tenant_id');
}

/** Arrays keep the same length as each other. */
function enlarged(values: readonly SentValue[]): SentValue[] {
  const longest = Math.max(0, ...values.filter(isArray).map((value) => value.length));
  const times = Math.max(1, Math.min(manyElements, Math.floor(longestArray / longest)));
  return values.map((value) =>
    isArray(value) ? `{${Array(times).fill(value.slice(1, -1)).join()}}` : value,
  );
}

/** Array literals of PostgreSQL, in which no name stands before a colon as in JSON. */
function isArray(value: SentValue): value is string {
  return typeof value === 'string' && /^\{.+\}$/s.test(value) && !/^\{\s*"[^"]*"\s*:/.test(value);
}

function given(value: SentValue): string | Buffer | null {
  return value === null || typeof value === 'string' ? value : Buffer.from(value.base64, 'base64');
}

const fewRows = 1_000;

/** The tables and indexes of the ground. */
export async function readCatalogue(client: Client): Promise<Catalogue> {
  const tables = await client.query<{ name: string }>(
    `select nspname || '.' || relname as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind in ('r', 'p') and reltuples > $1 and nspname !~ '^pg_'`,
    [fewRows],
  );
  const indexes = await client.query<Index & { name: string }>(
    `select nspname || '.' || relname as name, indpred is not null as "isPartial",
            case when indisunique and indexprs is null then array(
              select attname::text from pg_attribute where attrelid = indrelid and attnum = any (indkey[0:indnkeyatts - 1])
            ) end as unique
     from pg_index join pg_class on pg_class.oid = indexrelid join pg_namespace on pg_namespace.oid = relnamespace
     where nspname !~ '^pg_'`,
  );
  return {
    bigTables: new Set(tables.rows.map(({ name }) => name)),
    indexes: new Map(indexes.rows.map(({ name, unique, isPartial }) => [name, { unique, isPartial }])),
  };
}
