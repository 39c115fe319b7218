import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { ChaosSystem } from '../chaos/chaos-system.ts';
import { attacks, groundOf, type Ground } from './attacks.ts';
import { HostileServer } from './hostile-server.ts';
import { inboundAttacks } from './inbound-attacks.ts';
import { peerAttacks } from './peer-attacks.ts';
import { catalogueWith } from './provider-answers.ts';
import { streamsDuring } from './paced-streams.ts';

/**
 * `make test-hostile` runs alone: each attack by itself, twice at once, more streams, and the bound that is promised.
 * Beside other tests, several attacks with a third of their requests run at once.
 */
const full = process.env['HOSTILE'] === 'full';
const streams = full ? 40 : 4;
const seconds = full ? 10 : 4;
const together = full ? 2 : 1;
const attacksAtOnce = full ? 1 : 7;
/** How much later than at the provider a chunk may arrive; ten times that beside other tests. */
const boundMs = full ? 250 : 2_500;
const maxMemoryMiB = 700;

let chaos: ChaosSystem;
let server: HostileServer;
let folder: string;
let victim: TenantAccess;
let ground: Ground;
let pid: number | null;

beforeAll(async () => {
  server = await HostileServer.start();
  folder = await mkdtemp(join(tmpdir(), 'hostile-'));
  const models = join(folder, 'models.yaml');
  await writeFile(models, catalogueWith(server.url('/provider')));
  chaos = await ChaosSystem.start({
    ...{ GATEHOUSE_REPLICAS: 'all=1', EGRESS_ALLOW: '127.0.0.1', GATEHOUSE_MODELS: models },
    TELEGRAM_API_URL: server.url('/telegram'),
    SLACK_API_URL: server.url('/slack'),
    ZALO_API_URL: server.url('/zalo_oa'),
  });
  victim = await chaos.makeTenant();
  ground = groundOf(chaos.credentials.url, (await chaos.makeTenant()).adminKey, server, full ? 1 : 1 / 3);
  pid = chaos.local.processOf('gatehouse-1').pid;
});

afterAll(async () => {
  await server.stop();
  await chaos.stop();
  await rm(folder, { recursive: true });
});

describe('streams of a tenant are on time, and complete, while another one sends', () => {
  const all = [...attacks, ...peerAttacks, ...inboundAttacks];
  const groups = Array.from({ length: Math.ceil(all.length / attacksAtOnce) }, (_, group) => {
    const some = all.slice(group * attacksAtOnce, (group + 1) * attacksAtOnce);
    return { some, names: some.map(({ name }) => name).join(', ') };
  });
  it.each(groups)(
    '$names',
    ({ some }) =>
      chaos.explain(async () => {
        const attack = async (): Promise<void> => {
          await Promise.all(
            Array.from({ length: together }, () => some.map(({ run }) => run(ground))).flat(),
          );
        };
        const gateway = { url: `${chaos.credentials.url}/v1`, key: victim.userKey };
        const provider = { url: chaos.simulator.baseUrl, key: 'provider-key' };
        const seen = await streamsDuring({ gateway, provider }, { streams, seconds }, attack);
        chaos.mark('streams', seen);
        expect(seen.complete).toBe(true);
        expect(seen.latestMs - seen.controlMs).toBeLessThan(boundMs);
        expect(chaos.local.processOf('gatehouse-1').pid).toBe(pid);
      }),
    120_000,
  );

  it('and the process needs no more memory than it may', async () => {
    expect(await chaos.peakMemory('gatehouse-1')).toBeLessThan(maxMemoryMiB);
  });
});
