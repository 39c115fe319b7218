import type { Peer } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { Counter, type Registry } from '@gatehouse/kit/metrics';
import { Resource, type Ask, type Grant, type TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { mostTokens, type MostTokens } from './bounds.ts';
import type { CompletionRequest } from '../openai/completion-request.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import type { BudgetCharge } from '../runs/run.ts';
import type { Target } from '../catalogue/target.ts';
import type { KeySettings } from '../peers/tenant-settings.ts';
import type { Admission, Need } from './admission.ts';
import { RequestAdmission } from './request-admission.ts';
import { TenantQuota } from './tenant-quota.ts';

const deadlineMs = 1_500;
const forgetAfterMs = 60_000;

export interface QuotasOptions {
  peer: Peer<TenantServiceClient>;
  pricing: Pricing;
  /** This replica's id, which changes when it was taken for dead. */
  holderId: () => string;
  registry: Registry;
}

/** Whose limits a request counts against. */
export interface Caller {
  tenantId: string;
  apiKeyId: string;
  settings: KeySettings;
}

/** What the body of a request says about what it may use. */
export interface Content {
  request: CompletionRequest;
  target: Target;
}

/**
 * Limits and budgets as this replica leases and spends them (ADR 13). A request is admitted in two steps before its
 * provider is called, and settled when it is over.
 */
export class Quotas {
  readonly #options: QuotasOptions;
  readonly #tenants = new Map<string, TenantQuota>();
  readonly #refusals: Counter<'code'>;
  #holderId = '';
  #sequence = 0n;

  constructor(options: QuotasOptions) {
    this.#options = options;
    this.#refusals = new Counter({
      name: 'gatehouse_limit_refusals_total',
      help: 'Requests that a limit or a budget did not let in, or that could not be checked, by the code of the error',
      labelNames: ['code'],
      registers: [options.registry],
    });
  }

  /**
   * The first step, before the body is read: takes a slot of each limit of concurrency. Throws 429
   * `rate_limit_exceeded`, and 503 while nothing can be leased.
   */
  async arrive(caller: Caller): Promise<RequestAdmission> {
    const admission = new RequestAdmission();
    const slots = limitsOf(caller).filter(isSlot);
    if (slots.length > 0) admission.add(await this.#take(caller, slots, () => 1n));
    return admission;
  }

  /**
   * The second step: takes what the body decides of requests, tokens and budgets. Throws 429 `rate_limit_exceeded` or
   * `insufficient_quota`, 403 `model_unpriced`, and 503 while nothing can be leased.
   */
  async admit(admission: RequestAdmission, caller: Caller, content: Content): Promise<void> {
    const limits = limitsOf(caller).filter((limit) => !isSlot(limit));
    if (limits.length === 0) return;
    const amounts = new Amounts(content, this.#options.pricing);
    admission.add(await this.#take(caller, limits, (resource) => amounts.of(resource)));
  }

  async #take(
    { tenantId }: Caller,
    limits: readonly Limit[],
    amountOf: (resource: Resource) => bigint,
  ): Promise<Admission> {
    const quota = this.#tenant(tenantId);
    const needs: Need[] = limits.map(({ subjectId, resource }) => ({
      pool: quota.pool(subjectId, resource),
      amount: amountOf(resource),
    }));
    return quota.admit(needs).catch((error: unknown) => {
      if (error instanceof AppError) this.#refusals.inc({ code: error.code });
      throw error;
    });
  }

  /** The tenant service has charged what a run of this replica came to. */
  settled(tenantId: string, charges: readonly BudgetCharge[], costPico: bigint): void {
    const quota = this.#tenants.get(tenantId);
    for (const { subjectId, windowStart } of charges)
      quota?.settled(subjectId, costPico, BigInt(windowStart));
  }

  /** Whether anything was leased lately. */
  get inUse(): boolean {
    return this.#tenants.size > 0;
  }

  /** Forgets what has not been used for a while. */
  forgetIdle(): void {
    for (const [id, quota] of this.#tenants) {
      quota.forgetIdle();
      if (monotonicMs() - quota.idleSince > forgetAfterMs) this.#tenants.delete(id);
    }
  }

  /** Begins anew if this replica was taken for dead: what its former self held is released by whoever did that. */
  renew(): void {
    const holderId = this.#options.holderId();
    if (holderId === this.#holderId) return;
    this.#holderId = holderId;
    for (const quota of this.#tenants.values()) quota.renew();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#tenants.values()].map((quota) => quota.stop()));
  }

  #tenant(tenantId: string): TenantQuota {
    this.renew();
    const known = this.#tenants.get(tenantId);
    if (known !== undefined) return known;
    const made = new TenantQuota((asks) => this.#lease(tenantId, asks));
    this.#tenants.set(tenantId, made);
    return made;
  }

  async #lease(tenantId: string, asks: Ask[]): Promise<Grant[]> {
    this.#sequence += 1n;
    const request = { holderId: this.#holderId, sequence: this.#sequence, tenantId, asks };
    const { grants } = await this.#options.peer.call('lease', request, { deadlineMs }).catch(hangIsOutage);
    return grants;
  }
}

/** One limit of the tenant or of one of its keys. */
interface Limit {
  subjectId: string;
  resource: Resource;
}

function isSlot({ resource }: Limit): boolean {
  return resource === Resource.CONCURRENCY;
}

function limitsOf({ tenantId, apiKeyId, settings }: Caller): Limit[] {
  return [
    ...settings.limited.map((resource) => ({ subjectId: tenantId, resource })),
    ...settings.keyLimited.map((resource) => ({ subjectId: apiKeyId, resource })),
  ];
}

/** What one request needs at most; worked out once, and only what is limited. */
class Amounts {
  readonly #asked: Content;
  readonly #pricing: Pricing;
  #calls: readonly MostTokens[] | undefined;

  constructor(asked: Content, pricing: Pricing) {
    this.#asked = asked;
    this.#pricing = pricing;
  }

  of(resource: Resource): bigint {
    switch (resource) {
      case Resource.TOKENS:
        return BigInt(Math.max(...this.#perModel().map(({ input, output }) => input + output)));
      case Resource.BUDGET:
        return this.#money();
      default:
        return 1n;
    }
  }

  /** At the dearest model of the chain. */
  #money(): bigint {
    const at = new Date();
    const costs = this.#perModel().map(({ model, ...most }) => {
      const cost = this.#pricing.mostCost(model, most, at);
      if (cost !== null) return cost;
      throw new AppError(
        'model_unpriced',
        `The model ${JSON.stringify(model.id)} has no price for this request, and a budget is set. Ask the operator to price it.`,
        { param: 'model' },
      );
    });
    return costs.reduce((most, cost) => (cost > most ? cost : most));
  }

  #perModel(): readonly MostTokens[] {
    this.#calls ??= mostTokens(this.#asked.request, this.#asked.target);
    return this.#calls;
  }
}
