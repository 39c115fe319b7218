import { parentPort, workerData } from 'node:worker_threads';
import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import type { FromThread, ThreadData, ToThread } from './heartbeat.ts';
import type { TimedQuery } from './patient-client.ts';
import { createPool } from './pool.ts';

/** The thread of `Heartbeat`. */

/** The time of a slower beat is uncertain, and the next one is near. */
const patienceMs = 3_000;

const data = workerData as ThreadData;
const log = createLogger(data.service, data.level);
const pool = createPool({ url: data.url, role: data.role, max: 1, log });
const pulse = new Int32Array(data.pulse);
let current: Exclude<ToThread, 'stop'> = { number: 0, beat: null };
let lastPulse = -1;
let lastPulseAt = monotonicMs();
let isSilent = false;

/** Whether the event loop of the process has not turned for too long. */
function isStuck(): boolean {
  const now = monotonicMs();
  const count = Atomics.load(pulse, 0);
  if (count !== lastPulse) {
    lastPulse = count;
    lastPulseAt = now;
  }
  const stuck = now - lastPulseAt > data.stuckAfterMs;
  if (stuck && !isSilent)
    log.error(
      { stuck_ms: Math.round(now - lastPulseAt) },
      'the event loop is stuck; no heartbeat until it turns',
    );
  isSilent = stuck;
  return stuck;
}

async function beat(): Promise<boolean> {
  const { number, beat: statement } = current;
  if (statement === null || isStuck()) return true;
  try {
    const query: TimedQuery = {
      text: statement.text,
      values: [...statement.values],
      giveUpAfterMs: patienceMs,
    };
    const { rows } = await pool.query<Record<string, unknown>>(query);
    parentPort?.postMessage({ number, rows } satisfies FromThread);
    return true;
  } catch (error) {
    log.warn({ err: error }, 'heartbeat failed');
    return false;
  }
}

const loop = new BackgroundLoop(async () => ((await beat()) ? data.everyMs : data.retryMs));
loop.start(data.everyMs);

parentPort?.on('message', (message: ToThread) => {
  if (message !== 'stop') {
    current = message;
    return;
  }
  void loop
    .stop()
    .then(() => pool.end())
    .then(() => parentPort?.close());
});
