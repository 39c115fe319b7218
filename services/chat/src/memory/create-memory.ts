import { isOutage } from '@gatehouse/grpc/errors';
import type { Shell } from '@gatehouse/shell/shell';
import type { RunTelemetry } from '../recording/run-telemetry.ts';
import type { Peers } from '../shared/peers.ts';
import { MemoryClient } from './memory-client.ts';
import { RecallStep } from './recall.ts';
import { RememberQueue } from './remember-queue.ts';

export interface MemoryOptions {
  peers: Peers;
  telemetry: RunTelemetry;
  drainTimeoutMs: number;
  /** The longest delay of a turn by a search in memory. */
  recallBudgetMs?: number | undefined;
}

/** The memory of agents: searched before a turn, written after it. */
export function createMemory({ log, registry }: Shell, options: MemoryOptions) {
  const { peers, telemetry, drainTimeoutMs, recallBudgetMs: budgetMs } = options;
  const memory = new MemoryClient(peers.memory);
  // The longest delay of the stop by turns waiting for memory.
  const drainMs = Math.min(drainTimeoutMs, 5_000);
  const remember = new RememberQueue({ memory, isOutage, log, registry, drainMs });
  // Connects, so the first search does not spend its time on it.
  const start = (): void => log.debug({ reachable: peers.memory.reachable }, 'connecting to memory');
  return { recall: new RecallStep({ memory, telemetry, budgetMs }), remember, parts: [{ start }, remember] };
}
