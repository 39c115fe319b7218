import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { interrupted, runCli } from './cli.ts';
import { operations } from './known-operations.ts';

declare const __VERSION__: string | undefined;

const interrupt = new AbortController();
let interruptedBy = constants.signals.SIGINT;
// The first one lets the command remove what is half done, a second one ends the process.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interruptedBy = constants.signals[signal];
    interrupt.abort();
    // A command may wait for its input.
    process.stdin.destroy();
  });
// The reader of a pipe may leave early, as `head` does.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  process.exit(code === 'EPIPE' ? 0 : 1);
});

const code = await runCli({
  words: process.argv.slice(2),
  operations,
  environment: process.env,
  stdin: process.stdin,
  write: (text) => void process.stdout.write(text),
  isTerminal: process.stdout.isTTY,
  drain: async () => {
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
  },
  confirm,
  open: openInBrowser,
  writeError: (text) => void process.stderr.write(text),
  signal: interrupt.signal,
  version: typeof __VERSION__ === 'string' ? __VERSION__ : 'development',
});
process.exitCode = code === interrupted ? 128 + interruptedBy : code;

/** Only "y" and "yes" mean yes. */
async function confirm(question: string): Promise<boolean | null> {
  if (!process.stdin.isTTY) return null;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answered = lines.question(`${question} [y/N] `, { signal: interrupt.signal }).catch(() => '');
  const answer = await Promise.race([answered, once(lines, 'close').then(() => '')]);
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** No shell reads the address. */
function openInBrowser(url: string): void {
  const openers: Partial<Record<NodeJS.Platform, readonly string[]>> = {
    darwin: ['open'],
    win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  };
  const [command = '', ...words] = openers[process.platform] ?? ['xdg-open'];
  // The person can still open the printed address.
  spawn(command, [...words, url], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}
