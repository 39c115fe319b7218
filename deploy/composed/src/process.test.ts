import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { services } from '@gatehouse/contract/services';
import { ConnectionCount } from '@gatehouse/shell/connection-count';
import { testCatalogue } from '@gatehouse/test/catalogue';
import { testIdentity } from '@gatehouse/test/identity';
import { serviceEnvironment } from '@gatehouse/test/service-environment';
import { sharedConnections, type Environment } from './environment.ts';
import { createProcess } from './process.ts';

const allServices = services.map(({ name }) => name);
const databaseUrl = 'postgres://login@127.0.0.1:1/gatehouse';
let folder: string;
let environment: Environment;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-composed-'));
  const models = path.join(folder, 'models.json');
  await writeFile(
    models,
    JSON.stringify(testCatalogue({ simulator: 'http://127.0.0.1:1', refusing: 'http://127.0.0.1:1' })),
  );
  const identity = await testIdentity();
  const keys = services.map(
    ({ name }) => [`ASSERTION_PRIVATE_KEY_${name.toUpperCase()}`, identity.privateKey(name)] as const,
  );
  const { DATABASE_POOL: _, ...settings } = serviceEnvironment('edge', { databaseUrl, identity });
  environment = {
    ...settings,
    ...Object.fromEntries(keys),
    GATEHOUSE_MODELS: models,
    SIMULATOR_KEY: 'provider-key',
  };
});
afterAll(() => rm(folder, { recursive: true }));

/** Connections that a process with all services opens at most. */
async function most(settings: Environment): Promise<number> {
  const connections = new ConnectionCount(sharedConnections(settings, allServices));
  const made = await createProcess({ ...environment, ...settings }, connections);
  await made.stop();
  return connections.countOf(databaseUrl);
}

it('two replicas with all services have room in the 97 connections that PostgreSQL allows by default', async () => {
  expect(await most({})).toBe(47);
  expect(await most({ KAFKA_BROKERS: '127.0.0.1:1' })).toBe(48);
});

it('the connections that work of tenants shares grow with the size of pools', async () => {
  const of = (settings: Environment, names = allServices): number => sharedConnections(settings, names);
  expect([of({}), of({ DATABASE_POOL: ' 10 ' })]).toEqual([11, 75]);
  const chat = { DATABASE_POOL: '4', DATABASE_POOL_CHAT: '10' };
  expect([of(chat), of({ DATABASE_POOL_CHAT: '10' }), of(chat, ['agent', 'memory'])]).toEqual([75, 75, 27]);
});
