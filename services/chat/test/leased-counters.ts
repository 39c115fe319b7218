import { Resource, type Grant, type LeaseRequest, type Settlement } from '@gatehouse/proto/tenant/v1/tenant';

/**
 * Budgets of policies as the tenant service keeps them: what runs have cost, and what each replica holds, are never more
 * than the amount. Each value has the same amount. Other resources have no limit.
 */
export class LeasedCounters {
  readonly #amount: bigint;
  readonly #settlements: readonly Settlement[];
  readonly #held = new Map<string, Map<string, bigint>>();

  /** `settlements`: those that the tenant service has received. */
  constructor(amount: bigint, settlements: readonly Settlement[]) {
    this.#amount = amount;
    this.#settlements = settlements;
  }

  /** The costs of runs, by counter asked for. */
  get costs(): bigint[] {
    return [...this.#held.keys()].map((id) => this.#spent(id));
  }

  /** Grants each demand as a whole, or nothing of it. */
  lease({ holderId, asks, demands }: LeaseRequest): Grant[] {
    const isBudget = asks.map(({ resource }) => resource === Resource.BUDGET);
    for (const [index, { subjectId, holding }] of asks.entries())
      if (isBudget[index] === true) this.#holdersOf(subjectId).set(holderId, holding);
    const granted = asks.map(() => 0n);
    const left = (index: number): bigint => {
      const id = asks[index]?.subjectId ?? '';
      const held = [...this.#holdersOf(id).values()].reduce((sum, amount) => sum + amount, 0n);
      return this.#amount - this.#spent(id) - held;
    };
    for (const { needs } of demands) {
      if (needs.some(({ ask, amount }) => isBudget[ask] === true && amount > left(ask))) continue;
      for (const { ask, amount } of needs) {
        granted[ask] = (granted[ask] ?? 0n) + amount;
        const holders = this.#holdersOf(asks[ask]?.subjectId ?? '');
        holders.set(holderId, (holders.get(holderId) ?? 0n) + amount);
      }
    }
    return asks.map(({ subjectId }, index) => ({
      ...(isBudget[index] === true && { limit: this.#amount, spent: this.#spent(subjectId) }),
      ...{ windowStart: 1n, granted: granted[index] ?? 0n, remaining: left(index) },
      ...{ resetsInMs: 60_000n, validForMs: 2_000n },
    }));
  }

  #holdersOf(subjectId: string): Map<string, bigint> {
    const known = this.#held.get(subjectId) ?? new Map<string, bigint>();
    this.#held.set(subjectId, known);
    return known;
  }

  #spent(id: string): bigint {
    return this.#settlements
      .filter(({ charges }) => charges.some(({ subjectId }) => subjectId === id))
      .reduce((sum, { costPico }) => sum + costPico, 0n);
  }
}
