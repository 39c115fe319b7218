import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { fullRecord, samplesIn, StatementRecord, type SentValue } from './statement-record.ts';

let database: TestDatabase;
let client: Client;
let folder: string;
beforeAll(async () => {
  database = await createTestDatabase('tenant');
  client = new Client({ connectionString: database.adminUrl });
  await client.connect();
  folder = mkdtempSync(path.join(tmpdir(), 'statement-record-'));
});
afterAll(async () => {
  await client.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

const session = { role: 'tenant_app', startUp: [], settings: [] };

const samples = () => samplesIn(folder);

it('keeps one sample of a statement for each kind of its values, also beside another worker', () => {
  const [first, second] = [new StatementRecord(folder), new StatementRecord(folder)];
  for (const record of [first, second]) {
    for (const value of ['a', 'b', null, ['a'], ['b', 'c'], [], true])
      record.add(session, 'select $1', [value]);
    record.add({ ...session, role: 'tenant_system' }, 'select $1', ['a']);
    record.add(session, 'select $1::text', ['x'.repeat(30_000)]);
  }
  const ofApp = samples().filter(({ role, text }) => role === 'tenant_app' && text === 'select $1');
  expect(ofApp.map(({ values }) => values?.[0]).sort()).toEqual([null, 'a', 'true', '{"a"}', '{}'].sort());
  expect(samples()).toHaveLength(7);
  expect(samples().find(({ text }) => text === 'select $1::text')?.values).toBeNull();
});

it('keeps no values that are too large, until a test sends smaller ones of the same kind', () => {
  const text = 'select $1 as large';
  const valuesOf = () =>
    samples()
      .filter((sample) => sample.text === text)
      .map(({ values }) => values);
  const record = new StatementRecord(folder);
  record.add(session, text, ['x'.repeat(30_000)]);
  expect(valuesOf()).toEqual([null]);
  for (const value of ['a', 'x'.repeat(30_000)]) {
    record.add(session, text, [value]);
    new StatementRecord(folder).add(session, text, [value]);
    expect(valuesOf()).toEqual([['a']]);
  }
});

it('of a run that has not ended, or of other stores, is none', () => {
  const other = mkdtempSync(path.join(tmpdir(), 'statement-record-'));
  new StatementRecord(other).add(session, 'select 1', []);
  expect(() => fullRecord(other)).toThrow('no record of a whole `make test`');
  writeFileSync(path.join(other, 'complete'), 'the state of other stores');
  expect(() => fullRecord(other)).toThrow('have changed since');
  rmSync(other, { recursive: true });
});

it.each([
  ['text[]', ['a"b', String.raw`c\d`, null, 'e,{}']],
  ['bytea', Buffer.from([0, 92, 255])],
  ['bytea[]', [Buffer.from([0, 92, 255])]],
  ['timestamptz', new Date('2026-01-02T03:04:05.678Z')],
  ['jsonb', { a: ['b'] }],
  ['bigint[]', [1, 2n]],
  ['float8', 1.5],
  ['integer[][]', [[1], [2]]],
])('keeps a value of %s as it is sent', async (type, value) => {
  const text = `select $1::${type} as came, '${type}' as type`;
  new StatementRecord(folder).add(session, text, [value]);
  const [kept] = samples().find((sample) => sample.text === text)?.values ?? [];
  const asKept = await client.query<{ came: unknown }>(text, [given(kept)]);
  const asSent = await client.query<{ came: unknown }>(text, [value]);
  expect(asKept.rows).toEqual(asSent.rows);
});

function given(value: SentValue | undefined): string | Buffer | null {
  if (value === undefined) throw new Error('nothing was kept');
  return typeof value === 'object' && value !== null ? Buffer.from(value.base64, 'base64') : value;
}
