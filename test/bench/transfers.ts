import { availableParallelism, cpus } from 'node:os';
import type { Document } from '@gatehouse/contract/memory';
import type { WireTransfer } from '@gatehouse/contract/transfers';
import { sleep } from '@gatehouse/kit/clock';
import { freePort } from '@gatehouse/local/ports';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';
import { makeTenant, type TenantAccess } from '@gatehouse/test/tenants';
import { residentMiB } from './processes.ts';

/**
 * `make bench`: how fast an agent with a large memory is copied to another tenant, in how much memory, and for how long
 * one that moves answers in neither tenant. All of it runs on this machine, and nothing else asks meanwhile.
 * BENCH_CHUNKS (100,000) sets how many passages the memory has.
 */

const wanted = Number(process.env['BENCH_CHUNKS'] ?? 100_000);
const sections = 200;
const pollMs = 50;

const { folder, remove } = await makeStateFolder();
const local = new LocalSystem(folder, {
  PORT: String(await freePort()),
  LOG_LEVEL: 'error',
  GATEHOUSE_PROCESSES: 'separate',
});
try {
  const { url, owner_key: ownerKey } = await local.ready();
  const ask = async <Answered>(key: string, method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Answered };
  };
  const source = await makeTenant({ url, ownerKey });
  const target = await makeTenant({ url, ownerKey });
  const made = await ask<{ id: string }>(source.adminKey, 'POST', '/v1/agents', {
    ...{ key: 'bench', model: 'gpt-4.1-mini', memory: { enabled: true } },
  });
  const agent = made.body.id;

  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'})\n`,
  );
  const chunks = await fill(async (number) => {
    const path = `/v1/agents/${agent}/memory/documents/part-${number}.md`;
    const stored = await ask<Document>(source.adminKey, 'PUT', path, { text: textOf(number) });
    if (stored.status !== 200 && stored.status !== 201) throw new Error(`${path}: ${JSON.stringify(stored)}`);
    return stored.body.chunks;
  });

  const { pid } = local.processOf('memory-1');
  const watch = watchMemory(pid ?? 0);
  const copied = await transfer('copy');
  const { before, most } = watch();
  console.log(`copy of ${chunks} passages`);
  report('seconds', copied.seconds);
  report('passages/s', chunks / copied.seconds);
  report('memory service before and at most, MiB', before, most);
  const probe = closedFor(source, target);
  const moved = await transfer('move', 'skip');
  console.log(`move of ${chunks} passages`);
  report('seconds', moved.seconds);
  report('seconds in which neither tenant was answered', await probe());

  async function transfer(mode: 'copy' | 'move', on = 'rename'): Promise<{ seconds: number }> {
    const to = mode === 'copy' ? await makeTenant({ url, ownerKey }) : target;
    const path = '/v1/tenant/resource-transfers';
    const startedAt = performance.now();
    const preview = await ask<{ id: string }>(ownerKey, 'POST', `${path}/previews`, {
      ...{ mode, source_tenant_id: source.id, target_tenant_id: to.id, on_conflict: on },
      resources: [{ type: 'agent', id: agent }],
    });
    const begun = await ask<WireTransfer>(ownerKey, 'POST', path, { preview_id: preview.body.id });
    if (begun.status !== 202) throw new Error(JSON.stringify(begun.body));
    for (;;) {
      await sleep(pollMs);
      const { body } = await ask<WireTransfer>(ownerKey, 'GET', `${path}/${begun.body.id}`);
      if (body.status === 'failed') throw new Error(JSON.stringify(body.error));
      if (body.status === 'completed') return { seconds: (performance.now() - startedAt) / 1_000 };
    }
  }

  /** Asks in both tenants, until the second answers; returns how long neither did. */
  function closedFor(first: TenantAccess, second: TenantAccess): () => Promise<number> {
    const answers = async ({ userKey }: TenantAccess): Promise<boolean> => {
      const messages = [{ role: 'user', content: 'Hello.' }];
      const answer = await ask(userKey, 'POST', '/v1/chat/completions', { model: 'agent:bench', messages });
      return answer.status === 200;
    };
    const measured = (async () => {
      let lastAt = performance.now();
      while (!(await answers(second))) {
        if (await answers(first)) lastAt = performance.now();
        await sleep(pollMs);
      }
      return (performance.now() - lastAt) / 1_000;
    })();
    return () => measured;
  }
} finally {
  await local.stop();
  await remove();
}

function report(what: string, ...figures: number[]): void {
  console.log(`  ${what}`.padEnd(56) + figures.map((figure) => figure.toFixed(1).padStart(9)).join(''));
}

/** Stores documents, a few at a time, until there are enough passages; returns how many there are. */
async function fill(store: (number: number) => Promise<number>): Promise<number> {
  let [next, chunks] = [0, 0];
  const worker = async (): Promise<void> => {
    while (chunks < wanted) {
      next += 1;
      chunks += await store(next);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return chunks;
}

/** Sections of about a passage each, of a vocabulary of some thousand words. */
function textOf(number: number): string {
  let state = number;
  const word = (): string => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return `w${(state % 5_000).toString(36)}`;
  };
  const section = (_: unknown, index: number): string =>
    `## Section ${index}\n\n${Array.from({ length: 160 }, word).join(' ')}.`;
  return Array.from({ length: sections }, section).join('\n\n');
}

/** Looks at the resident memory of a process; the returned function ends that. */
function watchMemory(pid: number): () => { before: number; most: number } {
  const before = residentMiB(pid);
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, residentMiB(pid));
  }, 100);
  return () => {
    clearInterval(timer);
    return { before, most };
  };
}
