import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TenantAccess } from '@gatehouse/test/tenants';
import type { ChaosSystem } from './chaos-system.ts';
import type { EndlessProvider, EndlessKind } from './endless-provider.ts';
import { GatewayClient } from './gateway-client.ts';

const clients = 40;
const bodyBytes = 20 * 1024 * 1024;
const longText = Buffer.alloc(bodyBytes - 63, 'x');
/** Peak of resident memory that a service may reach. */
const mostMemoryMiB = 600;

let chaos: ChaosSystem;
let provider: EndlessProvider;
let hostile: TenantAccess;
let bystander: GatewayClient;
async function expectBoundedMemory(...names: string[]): Promise<void> {
  const peaks = await Promise.all(['edge-1', 'chat-1', ...names].map((name) => chaos.peakMemory(name)));
  expect(Math.max(...peaks)).toBeLessThan(mostMemoryMiB);
}

function post(key: string, headers: Record<string, string | number>): ClientRequest {
  const sent = request(`${chaos.credentials.url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
  });
  sent.on('error', () => undefined);
  return sent;
}

/** Sends all of a large legal body but its last byte, and returns the status of an answer that comes all the same. */
function stalledUpload(key: string): { sent: ClientRequest; status: Promise<number> } {
  const sent = post(key, { 'content-length': bodyBytes });
  const status = once(sent, 'response').then(([response]) => {
    const { statusCode = 0 } = response as IncomingMessage;
    (response as IncomingMessage).resume();
    return statusCode;
  });
  sent.write('{"model":"gpt-4.1-mini","messages":[{"role":"user","content":"');
  sent.write(longText);
  return { sent, status };
}

/** The statuses of forty stalled uploads, once all but `held` of them have one. */
async function stall(key: string, held: number): Promise<number[]> {
  const uploads = Array.from({ length: clients }, () => stalledUpload(key));
  const statuses: number[] = [];
  for (const { status } of uploads) void status.then((value) => statuses.push(value)).catch(() => undefined);
  const asked = Array.from({ length: 20 }, () => bystander.complete());
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  await chaos
    .within(90_000, 'refusals', () => Promise.resolve(statuses.length >= clients - held))
    .catch(() => undefined);
  for (const { sent } of uploads) sent.destroy();
  return statuses;
}

/** Asks for a stream of a kind of the endless provider's, and reads none of it. */
function unreadStream(key: string, kind: EndlessKind): ClientRequest {
  const messages = [{ role: 'user', content: kind }];
  const body = JSON.stringify({ model: 'gpt-4.1-mini', stream: true, messages });
  const sent = post(key, { 'content-length': Buffer.byteLength(body) });
  sent.on('response', (response: IncomingMessage) => response.pause());
  sent.end(body);
  return sent;
}

/**
 * Declares the tests of a system whose tenants mean harm: its calls go to the endless provider, and it waits 4 s for a
 * client that reads nothing.
 */
export function hostileClients(of: () => ChaosSystem, endless: () => EndlessProvider): void {
  beforeAll(async () => {
    chaos = of();
    provider = endless();
    hostile = await chaos.makeTenant();
    const other = await chaos.makeTenant();
    bystander = new GatewayClient(chaos.credentials.url, other.userKey);
  });
  afterAll(() => bystander.close());

  describe('forty clients that stop in the middle of a large body', () => {
    it(
      'get 429 beyond the one slot of their tenant, and take the memory of one body',
      () =>
        chaos.explain(async () => {
          const limited = await chaos.makeTenant({ limits: { max_concurrent: 1 } });
          expect(await stall(limited.userKey, 1)).toEqual(Array(clients - 1).fill(429));
          await expectBoundedMemory();
        }),
      180_000,
    );

    it(
      'get 429 beyond the bytes that a tenant may have in flight, where nothing else limits it',
      () =>
        chaos.explain(async () => {
          const statuses = await stall(hostile.userKey, 4);
          expect(new Set(statuses)).toEqual(new Set([429]));
          expect(statuses.length).toBeGreaterThanOrEqual(clients - 4);
          await expectBoundedMemory();
        }),
      180_000,
    );
  });

  describe.each<[number, EndlessKind]>([
    [clients, 'endless-stream'],
    // Each reaches the bound of a frame at once, faster than memory that is free again can be used again.
    [5, 'endless-frame'],
  ])('%d clients that do not read, of a provider that sends an %s', (count, kind) => {
    it(
      'hold neither their runs nor their connections nor memory',
      () =>
        chaos.explain(async () => {
          const { id, userKey } = await chaos.makeTenant();
          const unread = Array.from({ length: count }, () => unreadStream(userKey, kind));
          await chaos.within(20_000, 'all streams have begun', () =>
            Promise.resolve(provider.opened === count),
          );
          expect((await bystander.complete({ stream: true })).ending).toBe('answer');
          await chaos.within(30_000, 'the provider saw all connections close', () =>
            Promise.resolve(provider.closed === count),
          );
          await chaos.within(15_000, 'all their runs have ended', async () => {
            const rows = await chaos.rows<{ count: number }>(
              `select count(*)::integer as count from analytics.traces where tenant_id = $1 and status = $2`,
              [id, kind === 'endless-stream' ? 'cancelled' : 'error'],
            );
            return rows[0]?.count === count;
          });
          await expectBoundedMemory();
          for (const sent of unread) sent.destroy();
          provider.reset();
        }),
      90_000,
    );
  });

  describe('a tenant with 200 agents of the largest prompts', () => {
    it(
      'takes little memory with four lists of them at once, and gets each page within its bound',
      () =>
        chaos.explain(async () => {
          const { id, adminKey } = await chaos.makeTenant();
          await chaos.rows(
            `insert into agent.agents (id, tenant_id, key, name, description, model, model_fallbacks, system_prompt,
             parameters, tools, memory, visibility, status, metadata)
           select gen_random_uuid(), $1, 'agent-' || n, 'Agent', '', 'gpt-4.1-mini', '{}', repeat('🙂', 175000), '{}',
             '{"mcp_servers":[],"builtin":[],"max_iterations":1}', '{"enabled":false,"recall_limit":1,"write":false}',
             'tenant', 'active', '{}' from generate_series(1, 200) as n`,
            [id],
          );
          const lists = Array.from({ length: 4 }, async () => {
            const response = await fetch(`${chaos.credentials.url}/v1/agents?limit=200`, {
              headers: { authorization: `Bearer ${adminKey}` },
            });
            expect(response.status).toBe(200);
            return (await response.arrayBuffer()).byteLength;
          });
          expect(Math.max(...(await Promise.all(lists)))).toBeLessThan(5 * 1024 * 1024);
          await expectBoundedMemory('agent-1');
        }),
      60_000,
    );
  });

  describe('a tenant that makes the provider fail for it', () => {
    it(
      'takes nothing from another tenant: all of its 200 requests succeed',
      () =>
        chaos.explain(async () => {
          const attacker = new GatewayClient(chaos.credentials.url, hostile.userKey);
          const state = { over: false };
          const attacking = Array.from({ length: 8 }, async () => {
            while (!state.over) await attacker.complete({ provider: { status: 500 } });
          });
          const failures = (): number =>
            chaos.simulator.requests.filter(({ status }) => status === 500).length;
          // Twice as many as open a circuit.
          await chaos.within(20_000, 'the provider failed', async () => failures() > 20);
          const before = failures();
          const lanes = Array.from({ length: 10 }, async () => {
            const statuses: number[] = [];
            for (let call = 0; call < 20; call += 1) statuses.push((await bystander.complete()).status);
            return statuses;
          });
          const statuses = await Promise.all(lanes).finally(() => {
            state.over = true;
          });
          await Promise.all(attacking);
          attacker.close();
          expect(statuses.flat().filter((status) => status !== 200)).toEqual([]);
          chaos.mark('calls that the provider failed', { before, after: failures() });
          expect(failures()).toBeGreaterThan(before);
        }),
      90_000,
    );
  });
}
