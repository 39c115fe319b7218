import { remembering, type OnAnswer } from './remembering.ts';
import type { Recalled, RecallStep, RecallTurn } from './recall.ts';
import type { RememberQueue } from './remember-queue.ts';

export interface MemoryDependencies {
  recall: RecallStep;
  remember: RememberQueue;
}

/** Passages of an agent's memory for a turn, and the function that stores the finished turn there. Never throws. */
export async function withMemory(
  { recall, remember }: MemoryDependencies,
  turn: RecallTurn,
): Promise<Recalled & { onAnswer: OnAnswer | null }> {
  const { target } = turn;
  if (target.memory === null) return { target, recall: null, onAnswer: null };
  return { ...(await recall.run(turn)), onAnswer: remembering(remember, turn) };
}
