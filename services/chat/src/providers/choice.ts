import { minuteMs } from '@gatehouse/kit/bounds';
import { hash } from 'node:crypto';
import { monotonicMs } from '@gatehouse/kit/clock';
import { cacheKey } from '@gatehouse/kit/cache-key';

/** One of several to serve a session: a deployment of a model, or a key of a provider. */
export interface Member {
  /** Unlike those of the others. */
  readonly name: string;
  readonly weight: number;
}

/**
 * The members in their order of choice, by weighted rendezvous hashing: each share of affinities converges to its
 * weight, every replica has the same order without any state, and a leaving member moves its own sessions alone.
 * `affinity`: null for a draw by weight.
 */
export function weightedOrder<One extends Member>(
  members: readonly One[],
  affinity: string | null,
  random: () => number = Math.random,
): One[] {
  const scored = members.map((member) => {
    const draw = affinity === null ? random() : drawOf(affinity, member.name);
    return { member, score: -member.weight / Math.log(draw) };
  });
  return scored.sort((a, b) => b.score - a.score).map(({ member }) => member);
}

const draws = 2 ** 48;

/** A number between 0 and 1, neither of them included. */
function drawOf(affinity: string, name: string): number {
  return (hash('sha256', `${affinity} ${name}`, 'buffer').readUIntBE(0, 6) + 0.5) / draws;
}

/** About 20 MB. */
const maxStays = 100_000;

interface Stay {
  name: string;
  until: number;
}

/**
 * Chooses among members. Providers keep a prompt in their cache for five minutes after a call reads it. A session
 * served by another member than its first, since the first could not serve it, stays there while the provider has its
 * prompt in its cache. Without room, the session served longest ago returns to its first member, at the cost of the
 * cache alone.
 */
export class Choices {
  readonly #now: () => number;
  /** By session and group, the one renewed longest ago first. */
  readonly #stays = new Map<string, Stay>();

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  /** Sessions staying with another member than their first. */
  get size(): number {
    return this.#stays.size;
  }

  /** The members of a group in the order in which a session goes to them. */
  order<One extends Member>(group: string, members: readonly One[], affinity: string | null): readonly One[] {
    if (members.length < 2) return members;
    const order = weightedOrder(members, affinity);
    const stay = affinity === null ? undefined : this.#stays.get(stayKey(group, affinity));
    if (stay === undefined || stay.until <= this.#now()) return order;
    const preferred = order.filter(({ name }) => name === stay.name);
    return [...preferred, ...order.filter(({ name }) => name !== stay.name)];
  }

  /** A member has served a session. `wasFirst`: whether it was the first in the order. */
  served(group: string, name: string, { affinity, wasFirst }: { affinity: string; wasFirst: boolean }): void {
    const key = stayKey(group, affinity);
    const stays = this.#stays.delete(key);
    // The first member of a session without a stay is known without any state.
    if (wasFirst && !stays) return;
    const now = this.#now();
    this.#stays.set(key, { name, until: now + 5 * minuteMs });
    for (const [oldest, { until }] of this.#stays) {
      if (this.#stays.size <= maxStays && until > now) break;
      this.#stays.delete(oldest);
    }
  }
}

/** The key of a session in a group, which has the same length for each. */
function stayKey(group: string, affinity: string): string {
  return hash('sha256', cacheKey(group, affinity), 'base64url');
}
