import { execFile, fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-lifecycle-'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

let scripts = 0;

/** Starts a process whose service has this `start` and `stop`. */
async function script(body: { create?: string; start?: string; stop?: string }): Promise<string> {
  const file = path.join(folder, `service-${(scripts += 1)}.ts`);
  const kit = (name: string): string => JSON.stringify(path.join(import.meta.dirname, '../../kit/src', name));
  await writeFile(
    file,
    `import { run } from ${JSON.stringify(path.join(import.meta.dirname, 'run.ts'))};
     import { createLogger } from ${kit('log.ts')};
     import { ConfigError } from ${kit('config.ts')};
     const log = createLogger('probe', 'info');
     const forever = () => new Promise(() => setInterval(() => undefined, 1_000));
     await run(async () => {
       ${body.create ?? ''}
       return {
         log,
         start: async () => { ${body.start ?? 'setInterval(() => undefined, 1_000);'} },
         stop: async () => { ${body.stop ?? ''} },
       };
     });`,
  );
  return file;
}

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
  lines: { level: string; msg: string; reason?: string; err?: { message: string } }[];
}

class Running {
  readonly child: ChildProcess;
  readonly #streams: Readable[];
  #stdout = '';
  #stderr = '';

  constructor(child: ChildProcess) {
    this.child = child;
    this.#streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
    child.stdout?.on('data', (chunk: Buffer) => (this.#stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()));
  }

  async until(text: string): Promise<void> {
    const printed = await eventually(() => {
      if (`${this.#stdout}${this.#stderr}`.includes(text)) return true;
      if (this.child.exitCode !== null) return false;
      throw new Error(`"${text}" was not printed: ${this.#stdout}${this.#stderr}`);
    });
    if (!printed) throw new Error(`ended without "${text}": ${this.#stdout}${this.#stderr}`);
  }

  async ended(): Promise<Ended> {
    // Not 'close', which is never emitted after this side closed the IPC channel.
    const exit = once(this.child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const [[code, signal]] = await Promise.all([exit, ...this.#streams.map((stream) => finished(stream))]);
    const lines = this.#stdout.split('\n').filter((line) => line !== '');
    return {
      code,
      signal,
      stderr: this.#stderr,
      lines: lines.map((line) => JSON.parse(line) as Ended['lines'][0]),
    };
  }
}

function start(file: string): Running {
  return new Running(spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] }));
}

const messages = (ended: Ended): string[] => ended.lines.map((line) => line.msg);

describe('a service as a process', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('stops in order on %s and ends with 0', async (signal) => {
    const running = start(
      await script({ stop: `log.info('draining'); await new Promise((r) => setTimeout(r, 50));` }),
    );
    await running.until('started');
    running.child.kill(signal);
    const ended = await running.ended();
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect(messages(ended)).toEqual(['started', 'stopping', 'draining']);
    expect(ended.lines[1]?.reason).toBe(signal);
  });

  it('ends at once on a second signal', async () => {
    const running = start(await script({ stop: `process.stderr.write('hanging'); await forever();` }));
    await running.until('started');
    running.child.kill('SIGTERM');
    await running.until('hanging');
    running.child.kill('SIGTERM');
    expect(await running.ended()).toMatchObject({ code: 1, signal: null });
  });

  it('ends with 1 when stopping fails', async () => {
    const running = start(await script({ stop: `throw new Error('pool is stuck');` }));
    await running.until('started');
    running.child.kill('SIGTERM');
    const ended = await running.ended();
    expect([ended.code, ended.lines.at(-1)?.err?.message]).toEqual([1, 'pool is stuck']);
  });

  it('ends with 1 and the reason when it cannot start', async () => {
    const ended = await start(await script({ start: `throw new Error('port is taken');` })).ended();
    expect([ended.code, messages(ended)]).toEqual([1, ['failed to start']]);
    expect(ended.lines[0]?.err?.message).toBe('port is taken');
  });

  it('ends with 1 and the bare problems when settings are wrong', async () => {
    const ended = await start(
      await script({ create: `throw new ConfigError('Settings are wrong:\\n  X: missing');` }),
    ).ended();
    expect(ended).toMatchObject({ code: 1, stderr: 'Settings are wrong:\n  X: missing\n', lines: [] });
  });

  it('ends with 1 when settings are wrong, also under a supervisor', async () => {
    const file = await script({ create: `throw new ConfigError('Settings are wrong:');` });
    const running = new Running(fork(file, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] }));
    expect(await running.ended()).toMatchObject({ code: 1, stderr: 'Settings are wrong:\n' });
  });

  it('ends with 0 when it is stopped before it has started', async () => {
    const running = start(
      await script({
        start: `process.stderr.write('starting'); await new Promise((_, reject) => { globalThis.giveUp = reject; setInterval(() => undefined, 1_000); });`,
        stop: `globalThis.giveUp(new Error('stopped while starting')); await new Promise((r) => setTimeout(r, 200));`,
      }),
    );
    await running.until('starting');
    running.child.kill('SIGTERM');
    const ended = await running.ended();
    expect([ended.code, messages(ended)]).toEqual([0, ['stopping']]);
  });

  it('handles the signal before it is made: the first process of a container has no default handler', async () => {
    const running = start(await script({ create: `process.stderr.write('making'); await forever();` }));
    await running.until('making');
    running.child.kill('SIGTERM');
    expect(await running.ended()).toMatchObject({ code: 0, signal: null, lines: [] });
  });

  it.each([
    ['an exception that nobody caught', `setTimeout(() => { throw new Error('lost'); }, 20);`],
    ['a rejection that nobody caught', `setTimeout(() => void Promise.reject(new Error('lost')), 20);`],
  ])('ends with 1 and the reason on %s', async (_name, code) => {
    const ended = await start(
      await script({ start: `setInterval(() => undefined, 1_000); ${code}` }),
    ).ended();
    expect(ended.code).toBe(1);
    expect(ended.lines.at(-1)).toMatchObject({ level: 'fatal', err: { message: 'lost' } });
  });

  it('sets a limit of the heap that this V8 still has', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--v8-options']);
    expect(stdout).toContain('--heap-growing-percent');
  });

  it('stops when the parent that supervises it is gone', async () => {
    const file = await script({ stop: `log.info('draining');` });
    const running = new Running(fork(file, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] }));
    await running.until('started');
    running.child.disconnect();
    const ended = await running.ended();
    expect([ended.code, messages(ended)]).toEqual([0, ['started', 'stopping', 'draining']]);
    expect(ended.lines[1]?.reason).toBe('supervisor exited');
  });
});
