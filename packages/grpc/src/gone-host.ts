import { connect, isIP } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { monotonicMs, settledWithin, sleep } from '@gatehouse/kit/clock';

/** TCP attempts a connection at 0, 1, 3 and 7 s. */
const longestMs = 10_000;
const pauseMs = 500;

/** Errors of an attempt to which no host has answered. */
const unanswered = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH']);

/**
 * Whether the host of an address, `IP:port`, answers no attempt to connect, not even with a refusal. The kernel of a
 * host answers for a process if it is busy, stands still or has ended.
 */
export async function isHostGone(address: string, withinMs = longestMs): Promise<boolean> {
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
  if (isIP(host) === 0) return false;
  const until = monotonicMs() + withinMs;
  for (let left = withinMs; left > 0; left = until - monotonicMs()) {
    if (!(await isUnanswered({ host, port: Number(port) }, left))) return false;
    await sleep(Math.min(pauseMs, Math.max(0, until - monotonicMs())));
  }
  return true;
}

async function isUnanswered(to: { host: string; port: number }, withinMs: number): Promise<boolean> {
  const socket = connect(to);
  const end: { error?: NodeJS.ErrnoException | null } = {};
  const ended = new Promise<void>((resolve) => {
    const onEnd = (error: NodeJS.ErrnoException | null): void => {
      end.error = error;
      resolve();
    };
    socket.once('connect', () => onEnd(null)).on('error', onEnd);
  });
  await settledWithin(ended, withinMs);
  // If this process has stood still, the answer may be there without having been read.
  await setImmediate();
  socket.destroy();
  return end.error === undefined || (end.error !== null && unanswered.has(end.error.code ?? ''));
}
