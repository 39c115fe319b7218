import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await TestGateway.start();
});
afterAll(async () => gateway.stop());

const members = ['tenant-1', 'agent-1', 'analytics-1', 'chat-1', 'edge-1'] as const;

async function answers(name: string, text: string): Promise<void> {
  await eventually(async () => expect(await gateway.readiness(name)).toBe(text));
}

const ready = (name: string): Promise<void> => answers(name, 'ok\n');

/** Runs `work` while a service is away. */
async function without(name: string, work: () => Promise<void>): Promise<void> {
  for (const member of members) await ready(member);
  await gateway.stopMember(name);
  try {
    await work();
  } finally {
    await gateway.startMember(name);
  }
  for (const member of members) await ready(member);
}

async function restart(name: string): Promise<void> {
  await gateway.stopMember(name);
  await gateway.startMember(name);
}

/** Ten looks take longer than a channel does to see that its peer is gone. */
const lookEveryMs = 100;

async function stays(name: string, text: string): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    expect(await gateway.readiness(name)).toBe(text);
    await sleep(lookEveryMs);
  }
}

describe('a service', () => {
  it('is ready with its database and the peers it needs', async () => {
    for (const member of members) await ready(member);
  });

  it.each([
    ['chat-1', 'tenant-1', 'tenant'],
    ['chat-1', 'agent-1', 'agent'],
    ['edge-1', 'tenant-1', 'tenant'],
  ])('%s that starts without %s is not ready until that is there', async (name, peer, missing) => {
    await without(peer, async () => {
      await restart(name);
      await answers(name, `not ready: ${missing}\n`);
      await stays(name, `not ready: ${missing}\n`);
    });
  });

  it.each([
    ['chat-1', 'tenant-1'],
    ['chat-1', 'agent-1'],
  ])('%s that has reached %s once stays ready without it', async (name, peer) => {
    await without(peer, () => stays(name, 'ok\n'));
  });

  it.each([
    ['agent-1', 'chat-1'],
    ['agent-1', 'tenant-1'],
    ['analytics-1', 'tenant-1'],
    ['chat-1', 'analytics-1'],
    ['edge-1', 'chat-1'],
    ['tenant-1', 'agent-1'],
  ])(
    '%s does not wait for %s, which none of its requests needs or which waits for it',
    async (name, peer) => {
      await without(peer, async () => {
        await restart(name);
        await ready(name);
      });
    },
  );

  it.each(['tenant', 'agent', 'analytics', 'chat'] as const)(
    '%s says that its database is missing while it is away',
    async (service) => {
      await gateway.databaseOf(service).cut();
      expect(await gateway.readiness(`${service}-1`)).toBe('not ready: database\n');
      await gateway.databaseOf(service).open();
      await ready(`${service}-1`);
    },
  );
});
