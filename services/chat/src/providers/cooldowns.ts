import { hourMs, minuteMs } from '@gatehouse/kit/bounds';
import { monotonicMs } from '@gatehouse/kit/clock';
import { dropOldest, Findings, type CallScope } from './findings.ts';
import { maxNamed } from '../bounds.ts';

/** The reason of a cooldown: limits are used up, or the provider refuses the key. */
export type CooldownReason = 'limited' | 'refused';

export interface Cooldown {
  reason: CooldownReason;
  /** By the clock of the cooldowns. */
  until: number;
  pauseMs: number;
}

/** Pauses double from the first to the longest until a call is accepted. */
const pauses: Record<CooldownReason, { first: number; longest: number }> = {
  limited: { first: 1_000, longest: minuteMs },
  refused: { first: minuteMs, longest: hourMs },
};

type Reasons = Record<CooldownReason, Findings<Cooldown>>;

/**
 * Cooldowns of a key, or of methods missing at some servers: a refused call holds back calls for the same operation of
 * its model.
 */
export class Cooldowns {
  readonly #now: () => number;
  /** By model, the one refused longest ago first, and operation: the findings for each reason. */
  readonly #models = new Map<string, Map<string, Reasons>>();

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  /** The cooldown a call must wait for; null if it may be made. */
  cooldownOf({ operation, model, tenantId }: CallScope): Cooldown | null {
    const reasons = this.#models.get(model)?.get(operation);
    if (reasons === undefined) return null;
    const { limited, refused } = reasons;
    return this.#longest([
      limited.shared,
      refused.shared,
      limited.findingOf(tenantId),
      refused.findingOf(tenantId),
    ]);
  }

  /** The longest cooldown of a model for any operation and tenant. */
  modelCooldown(model: string): Cooldown | null {
    const operations = [...(this.#models.get(model)?.values() ?? [])];
    const all = operations.flatMap(({ limited, refused }) => [limited, refused]);
    return this.#longest(all.flatMap((findings) => [findings.shared, ...findings.tenantFindings()]));
  }

  /** The longest cooldown of any model. */
  get longest(): Cooldown | null {
    return this.#longest([...this.#models.keys()].map((model) => this.modelCooldown(model)));
  }

  /** The provider refused a call. */
  refused(call: CallScope, reason: CooldownReason, retryAfterMs?: number): void {
    const findings = this.#reasonsOf(call)[reason];
    const cooldown = this.#after(findings.findingOf(call.tenantId), reason, retryAfterMs);
    findings.set(call.tenantId, cooldown);
    const now = this.#now();
    const pauseMs = findings.witnessed(call.tenantId, now, cooldown.until - now);
    if (pauseMs !== null) findings.shared = { reason, pauseMs, until: now + pauseMs };
  }

  /** The provider accepted a call. Unended cooldowns stay: the call had begun before them. */
  accepted({ operation, model, tenantId }: CallScope): void {
    const reasons = this.#models.get(model)?.get(operation);
    if (reasons === undefined) return;
    const now = this.#now();
    for (const findings of [reasons.limited, reasons.refused]) {
      if ((findings.shared?.until ?? 0) <= now) findings.shared = null;
      if ((findings.findingOf(tenantId)?.until ?? 0) <= now) findings.forget(tenantId);
    }
  }

  #after(last: Cooldown | null, reason: CooldownReason, retryAfterMs: number | undefined): Cooldown {
    const now = this.#now();
    const { first, longest } = pauses[reason];
    // Calls under way together count as one refusal.
    const isResting = last !== null && last.until > now;
    const doubled = last === null ? first : Math.min(longest, last.pauseMs * 2);
    const pauseMs = isResting ? last.pauseMs : doubled;
    // A provider may ask to wait for an hour at most.
    const requestedMs = reason === 'limited' ? retryAfterMs : undefined;
    const until = now + Math.min(hourMs, requestedMs ?? pauseMs);
    return { reason, pauseMs, until: isResting && requestedMs === undefined ? last.until : until };
  }

  #longest(cooldowns: readonly (Cooldown | null)[]): Cooldown | null {
    const now = this.#now();
    let longest: Cooldown | null = null;
    for (const cooldown of cooldowns)
      if (cooldown !== null && cooldown.until > now && cooldown.until > (longest?.until ?? 0))
        longest = cooldown;
    return longest;
  }

  #reasonsOf({ operation, model }: CallScope): Reasons {
    const operations = this.#models.get(model) ?? new Map<string, Reasons>();
    this.#models.delete(model);
    this.#models.set(model, operations);
    dropOldest(this.#models, maxNamed);
    const made: Reasons = { limited: new Findings(), refused: new Findings() };
    const reasons = operations.get(operation) ?? made;
    operations.set(operation, reasons);
    return reasons;
  }
}
