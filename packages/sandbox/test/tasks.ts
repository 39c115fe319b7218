import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

export interface Task {
  does: keyof typeof deeds;
  with?: string;
}

const kept: string[] = [];

const deeds = {
  echo: (text: string) => text,
  list: () => ['x'.repeat(1_000)],
  env: () => Object.keys(process.env),
  pid: () => process.pid,
  readFile: (path: string) => readFileSync(path, 'utf8').length,
  writeFile: (path: string) => writeFileSync(path, 'x'),
  runProgram: () => execFileSync('true'),
  startThread: () => new Worker('1', { eval: true }),
  makeCode: () => (Reflect.construct(Function, ['return 1']) as () => number)(),
  wait: (ms: string) => new Promise((resolve) => setTimeout(() => resolve('waited'), Number(ms))),
  fail: (text: string) => {
    throw new Error(text);
  },
  exit: () => process.exit(3),
  fillMemory: () => {
    for (;;) kept.push(...Array<string>(100_000).fill('x').map(String));
  },
  holdMemory: async (bytes: string) => {
    kept.push(Buffer.alloc(Number(bytes), 1).toString('latin1'));
    await new Promise((resolve) => setTimeout(resolve, 10_000));
  },
  // A native function that can't be interrupted, for seconds.
  searchLong: () => 'a'.repeat(1_000_000).split(`${'a'.repeat(100_000)}b${'a'.repeat(100_000)}`).length,
  loop: () => {
    for (;;);
  },
};

/** Does what the tests of the sandbox ask for, in its process. */
export function perform({ does, with: value = '' }: Task): unknown {
  return deeds[does](value);
}
