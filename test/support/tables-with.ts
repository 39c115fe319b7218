type Rows = (sql: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/** The tables of a database in which a text is found, as its superuser sees them. */
export async function tablesWith(rows: Rows, text: string): Promise<string[]> {
  const tables = await rows(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const containing = `select 1 from ${String(name)} as t where strpos(t::text, $1) > 0 limit 1`;
    if ((await rows(containing, [text])).length > 0) found.push(String(name));
  }
  return found;
}
