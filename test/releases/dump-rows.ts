import type { Client } from 'pg';

/** The rows of all tables of a schema as SQL, in an order that doesn't change. Restore it as a superuser. */
export async function dumpRows(client: Client, schemas: readonly string[]): Promise<string> {
  // References are valid as they were; triggers have run.
  const statements = ['set session_replication_role = replica;'];
  for (const schema of schemas) {
    statements.push(...(await partitionsOf(client, schema)));
    for (const { table, columns, identity } of await tablesOf(client, schema)) {
      const rows = await literalRows(client, `${schema}.${table}`, columns);
      if (rows.length === 0) continue;
      statements.push(
        `insert into ${schema}.${table} (${columns.join(', ')}) overriding system value values\n${rows.join(',\n')};`,
      );
      if (identity !== null)
        statements.push(
          `select setval(pg_get_serial_sequence('${schema}.${table}', '${identity}'), max(${identity})) from ${schema}.${table};`,
        );
    }
  }
  return `${[...statements, 'set session_replication_role = origin;'].join('\n')}\n`;
}

interface Table {
  table: string;
  columns: string[];
  /** The column that the database numbers; null for none. */
  identity: string | null;
}

/** Without partitions, which are read through their parent, and the record of migrations, which the step writes. */
async function tablesOf(client: Client, schema: string): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `select relname as table, array_agg(attname::text order by attnum) as columns,
            min(attname::text) filter (where attidentity <> '') as identity
     from pg_class join pg_attribute on attrelid = pg_class.oid
     where relnamespace = to_regnamespace($1) and relkind in ('r', 'p') and not relispartition
       and relname <> 'migrations' and attnum > 0 and not attisdropped and attgenerated = ''
     group by relname order by relname`,
    [schema],
  );
  return rows;
}

/** Months that the restored schema may lack. Others have a default partition. */
async function partitionsOf(client: Client, schema: string): Promise<string[]> {
  if (schema !== 'analytics') return [];
  const { rows } = await client.query<{ month: string }>(
    `select replace(substr(relname, 8), '_', '-') || '-01' as month from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'analytics.traces'::regclass and relname ~ '^traces_\\d{4}_\\d{2}$' order by relname`,
  );
  return rows.map(({ month }) => `select analytics.ensure_partition('${month}');`);
}

async function literalRows(client: Client, table: string, columns: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<(string | null)[]>({
    text: `select ${columns.map((column) => `${column}::text`).join(', ')} from ${table} order by 1, 2`,
    rowMode: 'array',
  });
  return rows.map(
    (row) => `(${row.map((value) => (value === null ? 'null' : client.escapeLiteral(value))).join(', ')})`,
  );
}
