import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readProcessList } from '@gatehouse/local/process-list';
import { query } from './query.ts';

/** Runs a statement as the superuser of the PostgreSQL that `make up` has started with that state folder. */
export async function queryLocal<Row extends object>(
  stateFolder: string,
  sql: string,
  values?: unknown[],
): Promise<Row[]> {
  return query<Row>(await localDatabaseUrl(stateFolder), sql, values);
}

/** The URL of that PostgreSQL, as the superuser. */
export async function localDatabaseUrl(stateFolder: string): Promise<string> {
  const postgres = readProcessList(stateFolder).find(({ name }) => name === 'postgres');
  const password = await readFile(path.join(stateFolder, 'postgres.password'), 'utf8');
  return `postgres://postgres:${password}@127.0.0.1:${postgres?.ports['postgres'] ?? 0}/gatehouse`;
}
