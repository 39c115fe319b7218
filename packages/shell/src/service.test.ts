import { afterEach, describe, expect, it } from '@jest/globals';
import type { ServiceName } from '@gatehouse/contract/services';
import { parseConfig } from '@gatehouse/kit/config';
import { createLogger } from '@gatehouse/kit/log';
import { testIdentity } from '@gatehouse/test/identity';
import { z } from 'zod';
import type { Part } from './compose.ts';
import type { Service } from './service.ts';
import { grpcSettings, serviceSettings } from './settings.ts';
import { Shell } from './shell.ts';

const identity = await testIdentity();
const settings = z.object({ ...serviceSettings, ...grpcSettings });
const log = createLogger('test', 'silent');

async function createShell(name: ServiceName): Promise<Shell> {
  const config = parseConfig(settings, {
    HOST: '127.0.0.1',
    HTTP_PORT: '0',
    GRPC_PORT: '0',
    ADMIN_PORT: '0',
    ASSERTION_PRIVATE_KEY: identity.privateKey(name),
    ASSERTION_PUBLIC_KEYS: identity.publicKeys,
  });
  return Shell.create(name, config, { log });
}

const running: Service[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
});

async function start(service: Service): Promise<Service> {
  running.push(service);
  await service.start();
  return service;
}

/** A service that answers every request with its name. */
function named(shell: Shell, parts: readonly Part[] = []): Service {
  return shell.createService({
    handler: (_request, response) => response.end(shell.name),
    rpcs: [],
    parts,
  });
}

async function text(port: number, path = '/'): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}${path}`)).text();
}

describe('a service in its shell', () => {
  it('has a handler before it starts, and no port', async () => {
    const service = named(await createShell('tenant'));
    expect(service.handler).toBeInstanceOf(Function);
    expect(() => service.httpPort).toThrow();
    await start(service);
    expect(await text(service.httpPort)).toBe('tenant');
    expect(service.grpcPort).toBeGreaterThan(0);
  });

  it('starts the parts of its shell first and stops them last', async () => {
    const steps: string[] = [];
    const part = (name: string): Part => ({
      start: () => void steps.push(`start ${name}`),
      stop: () => void steps.push(`stop ${name}`),
    });
    const shell = await createShell('tenant');
    shell.add(part('pool'));
    shell.add(part('peer'));
    const service = await start(named(shell, [part('worker')]));
    expect(steps.splice(0)).toEqual(['start pool', 'start peer', 'start worker']);
    await service.stop();
    expect(steps).toEqual(['stop worker', 'stop peer', 'stop pool']);
  });

  it('is ready while every check that it requires holds', async () => {
    let reached = false;
    const shell = await createShell('tenant');
    shell.require('chat', () => reached);
    const { adminPort } = await start(named(shell));
    expect(await text(adminPort, '/readyz')).toBe('not ready: chat\n');
    reached = true;
    expect(await text(adminPort, '/readyz')).toBe('ok\n');
  });

  it('shares its process with another one, each with ports and metrics of its own', async () => {
    const tenant = await start(named(await createShell('tenant')));
    const agent = await start(named(await createShell('agent')));
    expect([await text(tenant.httpPort), await text(agent.httpPort)]).toEqual(['tenant', 'agent']);
    expect(await text(tenant.adminPort, '/metrics')).toContain('service="tenant"');
    expect(await text(agent.adminPort, '/metrics')).not.toContain('service="tenant"');
  });
});
