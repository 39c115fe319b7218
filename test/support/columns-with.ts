type Rows = (sql: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/** The columns of a database in which a text is found, as its superuser sees them: `schema.table.column`. */
export async function columnsWith(rows: Rows, text: string): Promise<string[]> {
  const tables = await rows(
    `select nspname || '.' || relname as name, format('%I.%I', nspname, relname) as quoted
     from pg_class join pg_namespace as n on n.oid = relnamespace
     where relkind in ('r', 'p') and not relispartition and nspname not in ('pg_catalog', 'information_schema')`,
  );
  const found: string[] = [];
  for (const { name, quoted } of tables) {
    const containing = `select distinct found.key from ${String(quoted)} as t, json_each_text(to_json(t)) as found where strpos(found.value, $1) > 0`;
    for (const { key } of await rows(containing, [text])) found.push(`${String(name)}.${String(key)}`);
  }
  return found;
}
