import { runCli } from './cli.ts';
import { operations } from './known-operations.ts';

declare const __VERSION__: string | undefined;

const interrupt = new AbortController();
process.once('SIGINT', () => {
  interrupt.abort();
});
// The reader of a pipe may leave early, as `head` does.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  process.exit(code === 'EPIPE' ? 0 : 1);
});

process.exitCode = await runCli({
  words: process.argv.slice(2),
  operations,
  environment: process.env,
  stdin: process.stdin,
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
  signal: interrupt.signal,
  version: typeof __VERSION__ === 'string' ? __VERSION__ : 'development',
});
