import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { Registry } from '@gatehouse/kit/metrics';
import { UnreadCheck, unreadByEdge, unreadResponses } from './unread-responses.ts';

/** The state of a socket at one sweep: bytes waiting, and bytes accepted by the kernel. */
type Sweep = readonly [waiting: number, taken: number];

/** The sweep at which the connection counts as unread; null for never. */
function foundAt(sweeps: readonly Sweep[]): number | null {
  let now: Sweep = [0, 0];
  const socket = {
    get writableLength() {
      return now[0];
    },
    get _handle() {
      // The waiting part of the written bytes is in the queue of the write in progress.
      return { bytesWritten: now[1] + now[0], writeQueueSize: now[0] };
    },
  };
  const check = new UnreadCheck(socket as unknown as Socket);
  for (const [index, sweep] of sweeps.entries()) {
    now = sweep;
    if (check.sweep()) return index;
  }
  return null;
}

const times = (count: number, sweep: Sweep): Sweep[] => Array<Sweep>(count).fill(sweep);

describe('a connection', () => {
  it.each<[string, Sweep[], number | null]>([
    ['is unread after a timeout without progress', times(20, [100, 7]), 8],
    ['is unread although more and more waits', times(20, [0, 7]).map((_, n) => [100 * n + 1, 7]), 8],
    ['is not unread while nothing waits', times(200, [0, 7]), null],
    ['is not unread while each sweep finds progress', times(200, [0, 0]).map((_, n) => [100, n]), null],
    [
      'is unread a timeout after it stopped to have nothing waiting',
      [...times(50, [0, 7]), ...times(20, [100, 9])],
      58,
    ],
    [
      'has three timeouts once it took something while more was waiting',
      [...times(4, [100, 7]), ...times(40, [50, 57])],
      28,
    ],
    [
      'has one timeout again after it took everything',
      [[100, 7], [50, 57], [0, 107], ...times(20, [100, 110])],
      11,
    ],
  ])('%s', (_name, sweeps, expected) => {
    expect(foundAt(sweeps)).toBe(expected);
  });
});

it('counts what it cuts, and gives the edge three times as long', async () => {
  const registry = new Registry();
  const log = createLogger('test', 'silent');
  const unread = unreadResponses(1_000, log, registry);
  unread.onCut(5);
  unread.onCut(5);
  expect(await registry.metrics()).toContain('gatehouse_unread_responses_total 2');
  expect([unread.timeoutMs, unreadByEdge(1_000, log, new Registry()).timeoutMs]).toEqual([1_000, 3_000]);
});
