import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';

/** Runs a program in a folder that is also its home, and returns its output. A dead proxy keeps it from other machines. */
export async function output(
  home: string,
  { command, args, settings }: { command: string; args: readonly string[]; settings: object },
): Promise<string> {
  const proxy = 'http://127.0.0.1:9';
  const program = spawn(command, args, {
    cwd: home,
    env: {
      ...{ PATH: process.env['PATH'], HOME: home },
      ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '127.0.0.1' },
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
  });
  const [printed, complained] = await Promise.all([
    text(program.stdout),
    text(program.stderr),
    once(program, 'close'),
  ]);
  if (program.exitCode !== 0) throw new Error(`${complained}${printed}`.slice(-1_500));
  return printed;
}

/** Calls `use` with a new folder, removed afterwards. */
export async function withHome<Result>(use: (home: string) => Promise<Result>): Promise<Result> {
  const home = await mkdtemp(path.join(tmpdir(), 'gatehouse-coding-agent-'));
  try {
    return await use(home);
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Runs a program in a folder and a home of its own. */
export function inNewHome(command: string, args: readonly string[], settings: object): Promise<string> {
  return withHome((home) => output(home, { command, args, settings }));
}

/** The first of these texts that the output lacks, if any, with the end of the output. */
export function missing(printed: string, ...texts: string[]): string | null {
  const lacking = texts.find((wanted) => !printed.includes(wanted));
  if (lacking === undefined) return null;
  return `no ${lacking} in: ${printed.replaceAll(/\s+/g, ' ').slice(-1_000)}`;
}
