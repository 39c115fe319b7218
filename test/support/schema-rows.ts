import type { Client } from 'pg';

/** Inserts rows into every table of a schema, based on the catalogue, and reads them back for comparison. */

interface Column {
  table: string;
  name: string;
  type: string;
  /** The check of this column alone, such as `status in ('a', 'b')`. */
  check: string | null;
}

export interface SeedOptions {
  schema: string;
  /** Distinguishes the rows of one call from those of another. */
  round: number;
  /** Whether tables that have rows stay as they are. */
  emptyOnly?: boolean;
}

/** Values that don't follow from a column's type and check. `{n}` is the number of the row, in six digits. */
const columnValues: Readonly<Record<string, string | null>> = {
  'tenants.timezone': 'UTC',
  'tenants.limits': '{}',
  'policies.tenants': null,
  'guardrails.tenants': null,
  'group_members.sources': '{api}',
  'users.blocked_by': '{}',
  'api_keys.key_id': 'ABCDEFGHIJ{n}',
  'api_keys.role': 'user',
  'api_keys.scopes': '{}',
  'sessions.role': 'user',
  'sessions.scopes': '{}',
  'agents.visibility': 'tenant',
  'relations.valid_to': null,
  'transfer_previews.target_tenant_id': '00000000-0000-7000-8000-000000000000',
  // The user id is deleted with the completion.
  'user_deletions.completed_at': null,
  'deliveries.status': 'pending',
  'deliveries.event_id': null,
  'deliveries.subscription_id': null,
  // A run that has an end.
  'traces.status': 'ok',
  'usage_users.users': '01'.repeat(512),
};

const rowsPerRound = 2;

/** Tables with one row, which a migration inserts. */
const singleRows: ReadonlySet<string> = new Set(['analytics.folds']);

/** Excludes partitions, which are filled through their parent, and the table of node-pg-migrate. */
const ownTables = `relkind in ('r', 'p') and not relispartition and relname <> 'migrations'`;

/**
 * Inserts rows into every table, with a value in every column unless `columnValues` says null. Rows with the same number have
 * the same ids, so that references are valid. `client` must be a superuser.
 */
export async function seedRows(client: Client, options: SeedOptions): Promise<void> {
  const { schema, round } = options;
  const columns = await columnsOf(client, schema);
  // The month in the ids of the rows.
  if (schema === 'analytics') await client.query(`select analytics.ensure_partition('2027-06-01')`);
  // References are valid by construction; triggers of foreign keys would require an order of the tables.
  await client.query('set session_replication_role = replica');
  for (const [table, own] of Map.groupBy(columns, (column) => column.table)) {
    const mayBeFull = options.emptyOnly === true || singleRows.has(`${schema}.${table}`);
    if (mayBeFull && (await hasRows(client, `${schema}.${table}`))) continue;
    for (let n = 0; n < rowsPerRound; n += 1) {
      const number = round * rowsPerRound + n;
      const row = own.map((column) => {
        const given = columnValues[`${table}.${column.name}`];
        return given === undefined ? valueOf(column, number) : given;
      });
      await client.query(
        `insert into ${schema}.${table} (${own.map(({ name }) => name).join(', ')}) overriding system value
         values (${own.map((_, index) => `$${index + 1}`).join(', ')})`,
        row.map((value) => value?.replaceAll('{n}', String(number).padStart(6, '0')) ?? null),
      );
    }
  }
  await client.query('set session_replication_role = origin');
}

async function hasRows(client: Client, table: string): Promise<boolean> {
  return (await client.query(`select from ${table} limit 1`)).rowCount !== 0;
}

async function columnsOf(client: Client, schema: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select relname as table, attname as name, format_type(atttypid, null) as type,
            (select pg_get_constraintdef(pg_constraint.oid) from pg_constraint
             where conrelid = pg_class.oid and contype = 'c' and conkey = array[attnum] limit 1) as check
     from pg_class join pg_attribute on attrelid = pg_class.oid
     where relnamespace = to_regnamespace($1) and ${ownTables} and attnum > 0 and not attisdropped and attgenerated = ''
     order by relname, attnum`,
    [schema],
  );
  return rows;
}

const byType: Readonly<Record<string, (n: number, name: string) => string>> = {
  uuid: (n) => `01a5f000-0000-7000-8000-${String(n).padStart(12, '0')}`,
  text: (n, name) => `${name} ${n}`,
  boolean: (n) => String(n % 2 === 0),
  smallint: String,
  integer: String,
  bigint: String,
  numeric: String,
  'double precision': String,
  // The length of the sets of users.
  bit: (n) => n.toString(2).padStart(1_024, '0'),
  'bit varying': (n) => n.toString(2),
  xid8: String,
  json: () => '{}',
  jsonb: () => '{}',
  // 32 bytes, like a SHA-256.
  bytea: (n) => `\\x${String(n).padStart(64, '0')}`,
  'timestamp with time zone': (n) => new Date(Date.UTC(2026, 10, 10, 0, n)).toISOString(),
};

/** A value of the type; for an array, one element. Undefined for an unknown type. */
function valueByType(type: string, n: number, name: string): string | undefined {
  if (!type.endsWith('[]')) return byType[type]?.(n, name);
  const element = byType[type.slice(0, -2)]?.(n, name);
  return element === undefined ? undefined : `{"${element}"}`;
}

function valueOf({ table, name, type, check }: Column, n: number): string {
  const listed = [...(check?.matchAll(/'([^']*)'::text/g) ?? [])].map(([, value]) => value ?? '');
  const value = check?.includes('= ANY') === true ? listed[n % listed.length] : valueByType(type, n, name);
  if (value === undefined) throw new Error(`add a value for ${table}.${name} of type ${type}`);
  return value;
}

/** Rows by table, as JSON of their columns. */
export type SchemaRows = Map<string, Record<string, unknown>[]>;

/** Reads all rows of all tables, without columns with volatile defaults, such as `default now()`. */
export async function readRows(client: Client, schema: string): Promise<SchemaRows> {
  const tables = await client.query<{ name: string; volatile: string[] }>(
    `select relname as name, array(
       select attname::text from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
       where adrelid = pg_class.oid and attgenerated = '' and pg_get_expr(adbin, adrelid) ~ '\\(\\)|nextval'
     ) as volatile
     from pg_class where relnamespace = to_regnamespace($1) and ${ownTables} order by relname`,
    [schema],
  );
  const all: SchemaRows = new Map();
  for (const { name, volatile } of tables.rows) {
    const { rows } = await client.query<{ row: Record<string, unknown> }>(
      `select to_jsonb(t) - $1::text[] as row from ${schema}.${name} as t order by 1`,
      [volatile],
    );
    all.set(
      name,
      rows.map(({ row }) => row),
    );
  }
  return all;
}

/** The tables and rows that are missing after a change; compares rows by the columns that still exist. */
export function lostRows(before: SchemaRows, after: SchemaRows): string[] {
  const lost: string[] = [];
  for (const [table, rows] of before) {
    const kept = after.get(table);
    if (kept === undefined) {
      lost.push(table);
      continue;
    }
    const columns = Object.keys(rows[0] ?? {}).filter((column) => column in (kept[0] ?? {}));
    const left = kept.map((row) => JSON.stringify(row, columns));
    for (const row of rows) {
      const at = left.indexOf(JSON.stringify(row, columns));
      if (at < 0) lost.push(`${table}: ${JSON.stringify(row)}`);
      else left.splice(at, 1);
    }
  }
  return lost;
}
