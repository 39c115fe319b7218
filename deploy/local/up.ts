import type { LocalCredentials } from './credentials.ts';
import { LogStream } from './log-stream.ts';
import { restartOnChange } from './restart-on-change.ts';
import { loadSettings } from './settings.ts';
import { printFailure } from './start-error.ts';
import { LocalSystem } from './system.ts';

/**
 * `make up`: the whole system on this machine, until Ctrl-C or SIGTERM. With `--watch` it is `make dev`: services restart
 * when their sources change, and not by themselves.
 */

const longestName = 'simulator'.length;
/** Ctrl-C arrives more than once when make, a shell and the terminal each pass it on. */
const sameSignalMs = 1_000;

async function up(): Promise<void> {
  const watches = process.argv.includes('--watch');
  // Separate processes restart one by one.
  const settings = loadSettings({ ...(watches && { GATEHOUSE_PROCESSES: 'separate' }), ...process.env });
  const { isTTY: isTerminal } = process.stdout;
  const log = new LogStream(process.stdout, {
    ...{ nameWidth: longestName, isTerminal },
    colour: isTerminal && !process.env['NO_COLOR'],
  });
  const system = new LocalSystem({ settings, caller: process.env, log, restartOnExit: !watches });
  const stopped = stopOnSignal(system, log);
  try {
    const credentials = await system.start();
    if (watches) await restartOnChange(system, log);
    announce(credentials, log, settings.stateFolder);
    await announceLogin(system, credentials, log);
  } catch (error) {
    if (stopped.requested()) return;
    printFailure(error);
    await system.stop();
    process.exit(1);
  }
}

function stopOnSignal(system: LocalSystem, log: LogStream): { requested: () => boolean } {
  let requestedAt: number | undefined;
  const onSignal = (reason: string): void => {
    const now = performance.now();
    if (requestedAt !== undefined) {
      if (now - requestedAt < sameSignalMs) return;
      system.kill();
      process.exit(1);
    }
    requestedAt = now;
    log.say(`stopping (${reason}); press Ctrl-C again to stop immediately`);
    void system.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        printFailure(error);
        system.kill();
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  // The parent process, which started this one with an IPC channel, has exited.
  if (process.channel !== undefined) process.on('disconnect', () => onSignal('parent exited'));
  process.on('uncaughtException', (error) => {
    printFailure(error);
    system.kill();
    process.exit(1);
  });
  return { requested: () => requestedAt !== undefined };
}

function announce(credentials: LocalCredentials, log: LogStream, stateFolder: string): void {
  const { url } = credentials;
  const body = JSON.stringify({
    model: `agent:${credentials.agent_key}`,
    messages: [{ role: 'user', content: 'Hello! Who are you?' }],
  });
  log.say(`the keys are in ${stateFolder}/credentials.json`);
  log.say(`pages for people: ${url}/app/ (log in with one of the keys, or once with the link below)`);
  log.plain(`ready: ${url}`);
  log.plain(
    `curl -sS ${url}/v1/chat/completions -H 'Authorization: Bearer ${credentials.user_key}' ` +
      `-H 'Content-Type: application/json' -d '${body}'`,
  );
}

/** Last, because the link is good for a minute. There is no link for a revoked key. */
async function announceLogin(
  system: LocalSystem,
  credentials: LocalCredentials,
  log: LogStream,
): Promise<void> {
  try {
    log.plain(`log in, once and within a minute: ${await system.makeLoginLink(credentials)}`);
  } catch (error) {
    log.say(
      `made no link to log in: ${(error as { stderr?: string }).stderr?.trim() ?? String(error)}`,
      'WARN',
    );
  }
}

try {
  await up();
} catch (error) {
  printFailure(error);
  process.exit(1);
}
