import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { composeService, together, type ComposeOptions, type Part } from './compose.ts';
import { sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { Registry } from '@gatehouse/kit/metrics';

afterEach(() => void jest.useRealTimers());

const config = { HOST: '127.0.0.1', ADMIN_PORT: 0, DRAIN_DELAY_MS: 0, DRAIN_TIMEOUT_MS: 100 };

function compose(parts: Part[], options: Partial<ComposeOptions> = {}): ReturnType<typeof composeService> {
  return composeService({
    log: createLogger('test', 'silent'),
    metrics: [new Registry()],
    config,
    parts,
    ...options,
  });
}

/** A part that records its calls. */
function part(name: string, events: string[], failing: { start?: boolean; stop?: boolean } = {}): Part {
  const note = (what: 'start' | 'stop'): void => {
    events.push(`${what} ${name}`);
    if (failing[what] === true) throw new Error(`${name} does not ${what}`);
  };
  return { start: async () => note('start'), stop: async () => note('stop') };
}

async function readiness(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/readyz`)).text();
}

async function status(port: number, path = '/readyz'): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}${path}`)).status;
}

describe('a service made of parts', () => {
  it('starts them in order and stops them in reverse', async () => {
    const events: string[] = [];
    const parts = [part('a', events), {}, { stop: () => void events.push('stop b') }, part('c', events)];
    const service = compose(parts);
    await service.start();
    expect(events.splice(0)).toEqual(['start a', 'start c']);
    await service.stop();
    expect(events).toEqual(['stop c', 'stop b', 'stop a']);
  });

  it('opens the admin port at an address of its own', async () => {
    const service = compose([], { config: { ...config, HOST: '127.0.0.2', ADMIN_HOST: '127.0.0.1' } });
    await service.start();
    expect(await status(service.adminPort)).toBe(200);
    await service.stop();
  });

  it('drains its parts as soon as it is not ready, and stops them after the delay', async () => {
    const events: string[] = [];
    const seen: number[] = [];
    const server = { ...part('server', events), drain: () => void events.push('drain') };
    const service = compose([server], { config: { ...config, DRAIN_DELAY_MS: 150 } });
    await service.start();
    const began = performance.now();
    const stopped = service.stop();
    seen.push(await status(service.adminPort));
    expect([seen, events]).toEqual([[503], ['start server', 'drain']]);
    await stopped;
    expect(events).toEqual(['start server', 'drain', 'stop server']);
    expect(performance.now() - began).toBeGreaterThanOrEqual(149);
  });

  it('is live at once, ready when started, and not ready from the beginning of its end', async () => {
    const seen: number[] = [];
    let able = true;
    const service = compose(
      [
        {
          start: async () =>
            void seen.push(await status(service.adminPort), await status(service.adminPort, '/livez')),
        },
      ],
      { config: { ...config, DRAIN_DELAY_MS: 100 }, ready: { tools: () => able } },
    );
    await service.start();
    const { adminPort } = service;
    seen.push(await status(adminPort));
    able = false;
    seen.push(
      await status(adminPort),
      await status(adminPort, '/livez'),
      await status(adminPort, '/nothing'),
    );
    able = true;
    const stopped = service.stop();
    seen.push(await status(adminPort), await status(adminPort, '/livez'));
    await stopped;
    expect(seen).toEqual([503, 200, 200, 503, 200, 404, 503, 200]);
    await expect(status(adminPort)).rejects.toThrow();
  });

  it('takes a readiness check that fails for a no', async () => {
    const service = compose([], { ready: { database: () => Promise.reject(new Error('away')) } });
    await service.start();
    expect(await status(service.adminPort)).toBe(503);
    await service.stop();
  });

  it('names what it is missing in /readyz', async () => {
    const seen: string[] = [];
    const there = { database: false, tenant: false };
    const starting: Part = { start: async () => void seen.push(await readiness(service.adminPort)) };
    const service = compose([starting], {
      config: { ...config, DRAIN_DELAY_MS: 50 },
      ready: { database: async () => there.database, tenant: () => there.tenant, agent: () => true },
    });
    await service.start();
    seen.push(await readiness(service.adminPort));
    there.database = true;
    seen.push(await readiness(service.adminPort));
    there.tenant = true;
    seen.push(await readiness(service.adminPort));
    const stopped = service.stop();
    seen.push(await readiness(service.adminPort));
    await stopped;
    expect(seen).toEqual([
      'not ready: starting\n',
      'not ready: database, tenant\n',
      'not ready: tenant\n',
      'ok\n',
      'not ready: stopping\n',
    ]);
  });

  it('stops what was started when a part does not start, and says why', async () => {
    const events: string[] = [];
    const service = compose([part('a', events), part('b', events, { start: true }), part('c', events)]);
    let port = 0;
    const failure = service.start();
    await expect(failure).rejects.toThrow('b does not start');
    expect(events).toEqual(['start a', 'start b', 'stop b', 'stop a']);
    expect(() => (port = service.adminPort)).toThrow();
    expect(port).toBe(0);
  });

  it('stops the other parts when one does not stop, and then says so', async () => {
    const events: string[] = [];
    const service = compose([part('a', events), part('b', events, { stop: true }), part('c', events)]);
    await service.start();
    const { adminPort } = service;
    await expect(service.stop()).rejects.toThrow('b does not stop');
    expect(events.slice(3)).toEqual(['stop c', 'stop b', 'stop a']);
    await expect(status(adminPort)).rejects.toThrow();
  });

  it('leaves a part behind that hangs ten seconds beyond the drain time, and stops the others', async () => {
    const events: string[] = [];
    const hanging: Part = { stop: () => new Promise(() => undefined) };
    const service = compose([part('a', events), hanging, hanging, part('b', events)]);
    await service.start();
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const stopped = expect(service.stop()).rejects.toThrow('too long');
    await jest.advanceTimersByTimeAsync(10_099);
    expect(events.splice(0)).toEqual(['start a', 'start b', 'stop b']);
    await jest.advanceTimersByTimeAsync(1);
    await stopped;
    expect(events).toEqual(['stop a']);
  });

  it('names the part that did not start, not the one that did not stop after that', async () => {
    const events: string[] = [];
    const service = compose([part('a', events, { stop: true }), part('b', events, { start: true })]);
    await expect(service.start()).rejects.toThrow('b does not start');
    expect(events).toEqual(['start a', 'start b', 'stop b', 'stop a']);
  });

  it('starts nothing more once it stops', async () => {
    const events: string[] = [];
    const begun = Promise.withResolvers<undefined>();
    const release = Promise.withResolvers<undefined>();
    const slow: Part = {
      start: () => {
        begun.resolve(undefined);
        return release.promise;
      },
      stop: () => void events.push('stop slow'),
    };
    const service = compose([slow, part('late', events)], {
      // No request can have reached it yet, so there is nothing to wait for.
      config: { ...config, DRAIN_DELAY_MS: 60_000 },
    });
    const starting = service.start();
    starting.catch(() => undefined);
    await begun.promise;
    await service.stop();
    release.resolve(undefined);
    await expect(starting).rejects.toThrow('stopped');
    expect(events).not.toContain('start late');
  });
});

/** How long a slow part takes to stop. */
const stopMs = 50;

describe('parts that stop together', () => {
  it('are started in order, drained, and stopped at the same time, in the place of one part', async () => {
    const events: string[] = [];
    const slow = (name: string): Part => ({
      ...part(name, events),
      drain: () => void events.push(`drain ${name}`),
      stop: async () => {
        events.push(`stop ${name}`);
        await sleep(stopMs);
        events.push(`stopped ${name}`);
      },
    });
    const service = compose([part('pool', events), together(slow('grpc'), slow('http'))]);
    await service.start();
    await service.stop();
    expect(events).toEqual([
      ...['start pool', 'start grpc', 'start http', 'drain grpc', 'drain http'],
      ...['stop http', 'stop grpc', 'stopped http', 'stopped grpc', 'stop pool'],
    ]);
  });

  it('are all stopped before what comes next, although one fails', async () => {
    const events: string[] = [];
    const slow: Part = { stop: () => sleep(stopMs).then(() => void events.push('stop slow')) };
    const service = compose([part('pool', events), together(slow, part('bad', events, { stop: true }))]);
    await service.start();
    await expect(service.stop()).rejects.toThrow('bad does not stop');
    expect(events.slice(2)).toEqual(['stop bad', 'stop slow', 'stop pool']);
  });
});
