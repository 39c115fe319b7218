import type { Client } from 'pg';

/** Fills every table of every service with the rows of many tenants, by the catalogue alone. */

/** Tenants with rows in every table. */
const tenants = 3_000;
const rowsPerTenant = 4;
const rowsPerTable = tenants * rowsPerTenant;

/** Tables without rows of tenants: they get a few. */
const smallTables: readonly { name: RegExp; reason: string }[] = [
  { name: /^chat\.instances$/, reason: 'a row for each replica' },
  { name: /^tenant\.limit_holders$/, reason: 'a row for each replica' },
  { name: /^analytics\.folds$/, reason: 'one row' },
  { name: /^analytics\.watermarks$/, reason: 'a row for each partition of a source' },
  { name: /outbox_dead_letters$/, reason: 'the last 1,000 are kept' },
  { name: /^\w+_jobs\.(?!job$)/, reason: "the library's own, such as a row for each task" },
];
const rowsPerSmallTable = 10;

interface Column {
  schema: string;
  table: string;
  name: string;
  type: string;
  /** The values of an enumerated type. */
  labels: string[];
  isRequired: boolean;
  isUnique: boolean;
  /** Whether its partitions exist for the present only. */
  isPartitionKey: boolean;
  /** The conditions of its table's partial indexes. */
  partial: string[];
  /** The check of this column alone, such as `status in ('a', 'b')`. */
  check: string | null;
}

/** Excludes partitions, which are filled through their parent, and the tables of node-pg-migrate. */
const ownTables = `relkind in ('r', 'p') and not relispartition and relname <> 'migrations'
  and nspname !~ '^(pg_|information_schema$|public$)'`;

/** `client` must be a superuser, in a database with the migrations of all services and no rows that count. */
export async function fillWithTenants(client: Client): Promise<void> {
  const columns = await columnsOf(client);
  // Values are found by their types; what is valid together, or refers to what, says nothing about plans.
  await client.query('set session_replication_role = replica');
  for (const statement of [...(await constraintDrops(client)), ...(await missingPartitions(client))])
    await client.query(statement);
  for (const own of Map.groupBy(columns, ({ schema, table }) => `${schema}.${table}`).values()) {
    const [{ schema, table } = { schema: '', table: '' }] = own;
    const name = `${client.escapeIdentifier(schema)}.${client.escapeIdentifier(table)}`;
    const isSmall = smallTables.some((small) => small.name.test(`${schema}.${table}`));
    const rows = isSmall ? rowsPerSmallTable : rowsPerTable;
    await client.query(
      `insert into ${name} (${own.map((column) => client.escapeIdentifier(column.name)).join(', ')})
       overriding system value
       select ${own.map(valueOf).join(', ')} from generate_series(0, ${rows - 1}) as n
       on conflict do nothing`,
    );
  }
  await client.query('vacuum analyze');
}

async function columnsOf(client: Client): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select nspname as schema, relname as table, attname as name, format_type(atttypid, atttypmod) as type,
            attnotnull as "isRequired",
            array(select enumlabel::text from pg_enum where enumtypid = atttypid order by enumsortorder) as labels,
            exists (select from pg_index where indrelid = pg_class.oid and indisunique and attnum = any (indkey))
              as "isUnique",
            exists (select from pg_partitioned_table where partrelid = pg_class.oid and attnum = any (partattrs))
              as "isPartitionKey",
            array(select pg_get_expr(indpred, indrelid) from pg_index
                  where indrelid = pg_class.oid and indpred is not null) as partial,
            (select pg_get_constraintdef(pg_constraint.oid) from pg_constraint
             where conrelid = pg_class.oid and contype = 'c' and conkey = array[attnum] limit 1) as check
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace join pg_attribute on attrelid = pg_class.oid
     where ${ownTables} and attnum > 0 and not attisdropped and attgenerated = ''
     order by nspname, relname, attnum`,
  );
  return rows;
}

async function constraintDrops(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as statement
     from pg_constraint join pg_class on pg_class.oid = conrelid join pg_namespace on pg_namespace.oid = relnamespace
     where contype in ('c', 'f') and ${ownTables} and coninhcount = 0`,
  );
  return rows.map(({ statement }) => statement);
}

/** A partition for all rows of each table whose partitions its service creates as it runs. */
async function missingPartitions(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `select format('create table %I.%I partition of %s default', nspname, relname || '_all', pg_class.oid::regclass) as statement
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind = 'p' and ${ownTables} and not exists (select from pg_inherits where inhparent = pg_class.oid)`,
  );
  return rows.map(({ statement }) => statement);
}

/** Ids grow with the rows, as UUIDs of version 7 do, and are of this month, for which partitions exist. */
export function uuidOf(n: string): string {
  return `(lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7000' || lpad(to_hex(${n}), 16, '0'))::uuid`;
}

/** From 0 to 1, in the order of rows. */
const share = `(n / ${rowsPerTable}.0)`;
/** Each tenant has rows of several kinds. */
const ofTenant = `(n / ${tenants})`;
/** Most rows are young: a tenth is older than 30 days. */
const past = `now() - interval '90 days' * power(1 - ${share}, 10)`;
/** A fiftieth is past. */
const future = `now() + interval '90 days' * (${share} - 0.02)`;

/** A tenant has two of each thing that rows refer to, so that its own key finds fewer rows than its tenant's. */
function numberOf({ name }: Column): string {
  if (/(^|_)tenant_id$/.test(name)) return `n % ${tenants}`;
  return name.endsWith('_id') ? `n % ${2 * tenants}` : 'n';
}

const byType: Readonly<Record<string, (column: Column) => string>> = {
  uuid: (column) => uuidOf(numberOf(column)),
  text: (column) => `'${column.name} ' || ${column.name === 'user_id' ? numberOf(column) : 'n'}`,
  'character varying': ({ name }) => `'${name} ' || n`,
  boolean: () => `${ofTenant} % 2 = 0`,
  smallint: ({ isUnique }) => (isUnique ? 'n % 30000' : 'n % 97'),
  integer: ({ isUnique }) => (isUnique ? 'n' : 'n % 97'),
  bigint: (column) => (column.isUnique || column.name.endsWith('_id') ? numberOf(column) : 'n % 97'),
  numeric: () => 'n % 97',
  'double precision': () => 'n % 97',
  real: () => 'n % 97',
  bit: () => `B'1'`,
  'bit varying': () => `B'10'`,
  json: () => `'{}'`,
  jsonb: () => `'{}'`,
  // 32 bytes, like a SHA-256.
  bytea: () => `sha256(int4send(n))`,
  inet: () => `inet '127.0.0.1' + n`,
  xid8: () => 'n::text::xid8',
  pg_snapshot: () => `'1:1:'`,
  date: (column) => `(${timeOf(column)})::date`,
  'timestamp with time zone': timeOf,
  'timestamp without time zone': timeOf,
  interval: () => `interval '1 hour'`,
};

function timeOf({ name, isPartitionKey }: Column): string {
  if (isPartitionKey) return `now() + n * interval '1 millisecond'`;
  return /expire|until|next|due|after|retry|keep/.test(name) ? future : past;
}

/** A value of the type; for an array, one element. Undefined for an unknown type. */
function valueByType(type: string, column: Column): string | undefined {
  const value = byType[type.replace(/\(.*\)|\[\]/g, '')]?.(column);
  return value !== undefined && type.endsWith('[]') ? `array[${value}]` : value;
}

function valueOf(column: Column): string {
  const { schema, table, name, type, check, labels, isRequired, isUnique } = column;
  const listed = /= ANY| = /.test(check ?? '') ? textsIn(check ?? '') : labels;
  const value = listed.length > 0 ? oneOf(listed, column) : valueByType(type, column);
  if (value === undefined) throw new Error(`add a value for ${schema}.${table}.${name} of type ${type}`);
  const typed = `(${value})::${type}`;
  return isRequired || isUnique ? typed : `case when ${presence(column)} then ${typed} end`;
}

/** A partial index is for the few rows that need work: its condition holds for one in 53, which is no part of 3,000. */
const isRare = 'n % 53 = 0';

function presence({ name, partial }: Column): string {
  if (partial.some((condition) => condition.includes(`(${name} IS NULL)`))) return `not (${isRare})`;
  if (partial.some((condition) => condition.includes(`(${name} IS NOT NULL)`))) return isRare;
  return `${ofTenant} % 2 = 0`;
}

function oneOf(values: readonly string[], { name, partial }: Column): string {
  const conditions = partial.filter((condition) => new RegExp(`\\(${name} = `).test(condition));
  const rare = values.filter((value) => conditions.some((condition) => textsIn(condition).includes(value)));
  const common = values.filter((value) => !rare.includes(value));
  if (rare.length === 0 || common.length === 0) return elementOf(values);
  return `case when ${isRare} then ${elementOf(rare)} else ${elementOf(common)} end`;
}

function elementOf(values: readonly string[]): string {
  return `(array['${values.join(`', '`)}'])[1 + (n + ${ofTenant}) % ${values.length}]`;
}

/** The texts in a condition, as PostgreSQL shows it. */
function textsIn(condition: string): string[] {
  return [...condition.matchAll(/'([^']*)'::text/g)].map(([, value = '']) => value);
}
