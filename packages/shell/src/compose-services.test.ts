import { afterEach, describe, expect, it } from '@jest/globals';
import type { ServiceName } from '@gatehouse/contract/services';
import { parseConfig } from '@gatehouse/kit/config';
import { createLogger } from '@gatehouse/kit/log';
import { createProcessRegistry } from '@gatehouse/kit/metrics';
import { testIdentity } from '@gatehouse/test/identity';
import { z } from 'zod';
import type { Part } from './compose.ts';
import { composeServices } from './compose-services.ts';
import { Neighbours } from './neighbours.ts';
import type { Service } from './service.ts';
import { serviceSettings } from './settings.ts';
import { Shell } from './shell.ts';

const identity = await testIdentity();
const log = createLogger('test', 'silent');

function configOf(name: ServiceName) {
  return parseConfig(z.object(serviceSettings), {
    HOST: '127.0.0.1',
    HTTP_PORT: '0',
    ADMIN_PORT: '0',
    DRAIN_DELAY_MS: '0',
    ASSERTION_PRIVATE_KEY: identity.privateKey(name),
    ASSERTION_PUBLIC_KEYS: identity.publicKeys,
  });
}

/** Services by name, each with a check `database` that holds or not. */
async function create(
  checks: Partial<Record<ServiceName, boolean>>,
  part: (name: ServiceName) => Part = () => ({}),
) {
  const names = Object.keys(checks) as ServiceName[];
  const neighbours = new Neighbours(names, { listen: false });
  const services: Service[] = [];
  for (const name of names) {
    const shell = await Shell.create(name, configOf(name), { log, neighbours });
    shell.require('database', () => checks[name] === true);
    services.push(
      shell.createService({
        handler: (_request, response) => response.end(name),
        parts: [part(name)],
        ...(name === 'edge' && { frontDoor: { cut: () => undefined } }),
      }),
    );
  }
  const registry = createProcessRegistry('gatehouse');
  return composeServices(services, { log, registry, config: configOf('edge') });
}

type Composed = Awaited<ReturnType<typeof create>>;
const running: Composed[] = [];
afterEach(async () => {
  for (const composed of running.splice(0)) await composed.stop();
});

async function start(...of: Parameters<typeof create>): Promise<Composed> {
  const composed = await create(...of);
  running.push(composed);
  await composed.start();
  return composed;
}

async function admin({ adminPort }: Composed, path: string): Promise<string> {
  return (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text();
}

describe('services in one process', () => {
  it('is ready while its front door and chat are, whatever another service lacks', async () => {
    expect(await admin(await start({ memory: false, chat: true, edge: true }), '/readyz')).toBe('ok\n');
    expect(await admin(await start({ chat: true, edge: false }), '/readyz')).toBe(
      'not ready: edge database\n',
    );
    expect(await admin(await start({ chat: false, edge: true }), '/readyz')).toBe(
      'not ready: chat database\n',
    );
  });

  it('shows in its metrics which part of which service is not ready', async () => {
    const metrics = await admin(await start({ memory: false, chat: true, edge: true }), '/metrics');
    const samples = metrics.split('\n').filter((line) => line.startsWith('gatehouse_ready{'));
    expect(samples).toEqual([
      'gatehouse_ready{check="database",service="memory"} 0',
      'gatehouse_ready{check="database",service="chat"} 1',
      'gatehouse_ready{check="database",service="edge"} 1',
    ]);
  });

  it('needs all services to be ready where clients reach none of them', async () => {
    const composed = await start({ tenant: false, chat: true });
    expect(await admin(composed, '/readyz')).toBe('not ready: tenant database\n');
  });

  it('shows each metric once, with the samples of all services, and those of the process', async () => {
    const text = await admin(await start({ chat: true, edge: true }), '/metrics');
    const helps = text.split('\n').filter((line) => line.startsWith('# HELP '));
    expect(new Set(helps).size).toBe(helps.length);
    const samples = text
      .split('\n')
      .filter((line) => /^(gatehouse_build_info|process_cpu_seconds_total)\{/.test(line));
    expect(samples.map((line) => /service="(\w+)"/.exec(line)?.[1])).toEqual(['gatehouse', 'chat', 'edge']);
  });

  it('starts its services in order and stops them in reverse', async () => {
    const events: string[] = [];
    const composed = await create({ tenant: true, chat: true, edge: true }, (name) => ({
      start: () => void events.push(`start ${name}`),
      stop: () => void events.push(`stop ${name}`),
    }));
    await composed.start();
    await composed.stop();
    expect(events).toEqual([
      'start tenant',
      'start chat',
      'start edge',
      'stop edge',
      'stop chat',
      'stop tenant',
    ]);
  });
});
