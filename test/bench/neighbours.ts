import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, cpus } from 'node:os';
import path from 'node:path';
import { freePort } from '@gatehouse/local/ports';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';
import { startProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { makeTenant } from '@gatehouse/test/tenants';
import { attacks } from '../hostile/attacks.ts';
import { percentile } from './database.ts';
import { arrivals } from './load.ts';

/**
 * `make bench`: how long requests of one tenant take while another one attacks without a pause, in one process and in
 * three, where both use all of them. BENCH_SECONDS (5) are measured without an attack before and after, and with each.
 * Attacks take the cores as well: where they are few, the ratios show that, too.
 */

const seconds = Number(process.env['BENCH_SECONDS'] ?? 5);
const perSecond = 30;
const promised = 2;

/** The process of a tenant that attacks. */
class Attacker {
  readonly #child;

  private constructor(url: string, key: string) {
    this.#child = fork(path.join(import.meta.dirname, '../hostile/attacker.ts'), [url, key]);
  }

  static async start(url: string, key: string): Promise<Attacker> {
    const attacker = new Attacker(url, key);
    await once(attacker.#child, 'message');
    return attacker;
  }

  /** Goes over to this attack, or to none. Returns how often it carried out the one before. */
  async attack(name: string): Promise<number> {
    const answered = once(this.#child, 'message') as Promise<[number]>;
    this.#child.send(name);
    const [rounds] = await answered;
    return rounds;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}

for (const processes of [1, 3]) await measure(processes);

async function measure(processes: number): Promise<void> {
  const { folder, remove } = await makeStateFolder();
  const simulator = await startProviderSimulator({ record: false });
  const local = new LocalSystem(folder, {
    PORT: String(await freePort()),
    LOG_LEVEL: 'error',
    EGRESS_ALLOW: '127.0.0.1',
    OPENAI_BASE_URL: simulator.baseUrl,
    OPENAI_API_KEY: 'any',
    GATEHOUSE_REPLICAS: `all=${processes}`,
  });
  const attackers: Attacker[] = [];
  try {
    const { url, owner_key: ownerKey } = await local.ready();
    const urls = Array.from({ length: processes }, (_, n) => {
      const { protocol, hostname, port } = new URL(url);
      return `${protocol}//${hostname}:${Number(port) + n}`;
    });
    const quiet = await makeTenant({ url, ownerKey });
    const hostile = await makeTenant({ url, ownerKey });
    for (const each of urls) attackers.push(await Attacker.start(each, hostile.adminKey));
    const ask = await asker(urls, quiet.adminKey);
    const during = async (name = 'none'): Promise<{ p50: number; p95: number; rounds: number }> => {
      await Promise.all(attackers.map((attacker) => attacker.attack(name)));
      const times: number[] = [];
      await arrivals({ perSecond, seconds }, async (index, dueAt) => {
        await ask(index);
        times.push(performance.now() - dueAt);
      });
      const rounds = await Promise.all(attackers.map((attacker) => attacker.attack('none')));
      return {
        p50: percentile(times, 0.5),
        p95: percentile(times, 0.95),
        rounds: rounds.reduce((sum, each) => sum + each, 0),
      };
    };
    await during();
    const before = await during();
    console.log(
      `\nOne tenant's requests (p50 / p95 ms) beside another that attacks; ${processes} process${processes > 1 ? 'es' : ''}, ${availableParallelism()} cores, ${cpus()[0]?.model ?? ''}`,
    );
    const print = (name: string, { p50, p95, rounds }: { p50: number; p95: number; rounds: number }): void =>
      console.log(
        `${p50.toFixed(1).padStart(7)} / ${p95.toFixed(1).padStart(7)}  ${(p95 / before.p95).toFixed(1).padStart(5)} x  ${name}${rounds > 0 ? ` (${rounds} times)` : ''}${p95 > promised * before.p95 ? '  OVER' : ''}`,
      );
    print('no attack', before);
    for (const { name } of attacks) print(name, await during(name));
    print('no attack again', await during());
  } finally {
    for (const attacker of attackers) await attacker.stop();
    await local.stop();
    await simulator.close();
    await remove();
  }
}

/** Requests of three kinds in turns: a completion, a search and a list. Each must succeed. */
async function asker(urls: readonly string[], key: string): Promise<(index: number) => Promise<void>> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const send = async (url: string, method: string, body?: object): Promise<void> => {
    const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status}`);
  };
  const [first = ''] = urls;
  const model = 'gpt-4.1-mini';
  await send(`${first}/v1/agents`, 'POST', { key: 'desk', model });
  const documents = `${first}/v1/agents/desk/memory/documents`;
  for (let n = 0; n < 20; n += 1)
    await send(`${documents}/note-${n}`, 'PUT', { text: `Ship ${n} arrives at noon.`, scope: 'agent' });
  const messages = [{ role: 'user', content: 'When does the ship arrive?' }];
  return (index) => {
    const url = urls[Math.floor(index / 3) % urls.length] ?? first;
    if (index % 3 === 0) return send(`${url}/v1/chat/completions`, 'POST', { model, messages });
    if (index % 3 === 1) return send(`${url}/v1/agents?limit=10`, 'GET');
    return send(`${url}/v1/agents/desk/memory/search`, 'POST', { query: 'ship at noon' });
  };
}
