import { afterEach, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { LogStream } from './log-stream.ts';
import { startNode } from './running-process.ts';
import { Supervised } from './supervised.ts';

/** Is ready when it has written a file named after its process id. */
const running = `
  import { writeFileSync } from 'node:fs';
  process.on('SIGTERM', () => process.exit(0));
  setInterval(() => undefined, 1_000);
  writeFileSync(\`\${import.meta.dirname}/\${process.pid}\`, '');
`;

describe('a supervised process', () => {
  let folder: string;
  let member: Supervised;
  let printed: string;

  afterEach(async () => {
    await member.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function program(text: string): Promise<string> {
    const main = path.join(folder, 'main.mjs');
    await writeFile(main, text);
    return main;
  }

  async function start(options: { restartOnExit?: boolean } = {}): Promise<void> {
    folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-supervised-'));
    const main = await program(running);
    printed = '';
    const out = new PassThrough().on('data', (text: Buffer) => {
      printed += text.toString();
    });
    const log = new LogStream(out, { nameWidth: 6, colour: false, isTerminal: true });
    member = new Supervised({
      name: 'worker',
      ports: {},
      launch: () => startNode({ name: 'worker', main, environment: {}, log, stopTimeoutMs: 5_000 }),
      isReady: async () => existsSync(path.join(folder, String(member.pid))),
      log,
      onChange: () => undefined,
      ...options,
    });
    await member.start();
  }

  async function print(pattern: RegExp): Promise<void> {
    for (const deadline = Date.now() + 10_000; !pattern.test(printed);) {
      if (Date.now() > deadline) throw new Error(`${String(pattern)} was not printed:\n${printed}`);
      await sleep(10);
    }
  }

  it('runs as another process after a restart', async () => {
    await start();
    const { pid } = member;
    expect(await member.restart()).toBe(true);
    expect(member.pid).not.toBe(pid);
    expect(printed).not.toContain('restarting in');
  });

  it('answers two restarts at once with one', async () => {
    await start();
    expect(await Promise.all([member.restart(), member.restart()])).toEqual([true, true]);
    expect(printed.match(/runs again/g)).toHaveLength(1);
  });

  it('restarts at once while it waits after a crash', async () => {
    await start();
    process.kill(member.pid ?? 0, 'SIGKILL');
    await print(/restarting in 0\.5 s/);
    expect(await member.restart()).toBe(true);
  });

  it('stays down after an end if only a restart may start it', async () => {
    await start({ restartOnExit: false });
    process.kill(member.pid ?? 0, 'SIGKILL');
    await print(/worker exited with signal SIGKILL; it restarts with the next change/);
    expect(member.pid).toBeUndefined();
    expect(await member.restart()).toBe(true);
    expect(member.pid).toBeDefined();
  });

  it('answers false if the new process ends before it is ready, and the next restart works', async () => {
    await start({ restartOnExit: false });
    await program('process.exit(3)');
    expect(await member.restart()).toBe(false);
    expect(printed).toContain('worker exited with code 3; it restarts with the next change');
    await program(running);
    expect(await member.restart()).toBe(true);
  });

  it('ends a restart that is under way when it is stopped', async () => {
    await start();
    const restart = member.restart();
    await member.stop();
    await restart;
    expect(member.pid).toBeUndefined();
  });
});
