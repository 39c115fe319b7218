import { readFile } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { freePort } from '@gatehouse/local/ports';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';
import { makeTenant, type TenantAccess } from '@gatehouse/test/tenants';
import { parse } from 'yaml';

/** The largest legal bodies of several tenants at once, in one process with all services, through its own front door. */

const MiB = 1024 * 1024;
const values = path.join(import.meta.dirname, '../../charts/gatehouse/values.yaml');

let system: LocalSystem;
let removeState: () => Promise<void>;
let tenants: TenantAccess[];
beforeAll(async () => {
  const state = await makeStateFolder();
  removeState = state.remove;
  system = new LocalSystem(state.folder, { PORT: String(await freePort()), LOG_LEVEL: 'warn' });
  const { url, owner_key: ownerKey } = await system.ready();
  tenants = await Promise.all(Array.from({ length: 8 }, () => makeTenant({ url, ownerKey })));
}, 180_000);
afterAll(async () => {
  await system.stop();
  await removeState();
});

/** One character outside of Latin-1 doubles the memory that V8 needs for a text. */
const content = `東${'lorem ipsum '.repeat((31 * MiB) / 12)}`;

/** A client sends again after 429 and 503, as SDKs do. */
async function statusOf(body: string, key: string): Promise<number> {
  const { url } = await system.credentials();
  for (let calls = 1; ; calls += 1) {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body });
    const text = await response.text();
    if (![429, 503].includes(response.status) || calls === 20) {
      if (response.status !== 200) process.stderr.write(`${text.slice(0, 500)}\n`);
      return response.status;
    }
    await sleep(1_000);
  }
}

/** The most memory that any process of the gateway has had, in MiB. */
async function peakMiB(): Promise<number> {
  const peaks = system.processes().map(async ({ pid, name }) => {
    if (pid === null || ['postgres', 'simulator'].includes(name)) return 0;
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kibibytes) / 1024;
  });
  return Math.max(...(await Promise.all(peaks)));
}

// Linux alone reports the peak of a process.
const onLinux = platform() === 'linux' ? it : it.skip;

onLinux(
  'fit the memory limit of the chart',
  async () => {
    const { services } = parse(await readFile(values, 'utf8')) as {
      services: { composed: { resources: { limits: { memory: string } } } };
    };
    const { memory } = services.composed.resources.limits;
    expect(memory).toMatch(/^\d+Mi$/);
    const messages = [{ role: 'user', content }];
    const body = JSON.stringify({ model: 'gpt-4.1-mini', max_tokens: 100, messages });
    const asked = await Promise.all(tenants.map(({ userKey }) => statusOf(body, userKey)));
    expect(asked).toEqual(tenants.map(() => 200));
    const peak = await peakMiB();
    if (process.env['MEASURE'])
      process.stderr.write(`MEASURED composed: ${peak.toFixed()} MiB of ${memory}\n`);
    expect(peak).toBeGreaterThan(100);
    expect(peak).toBeLessThan(Number.parseInt(memory, 10));
  },
  300_000,
);
