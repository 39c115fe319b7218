import { minuteMs } from '@gatehouse/kit/bounds';
import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { maxPico } from '@gatehouse/kit/money';
import { counter, type Counter, type Registry } from '@gatehouse/kit/metrics';
import {
  Resource,
  type Ask,
  type Demand,
  type Grant,
  type LeaseRequest,
} from '@gatehouse/proto/tenant/v1/tenant';
import type { BudgetCharge } from '../runs/run.ts';
import type { KeySettings } from '../shared/tenant-settings.ts';
import { Admission, isSpent } from './admission.ts';
import { dependsOnModel } from '@gatehouse/kit/policy-matching';
import type { PolicyCounter } from '../policies/policy.ts';
import { ModelUnpriced, type RequestAmounts } from './request-amounts.ts';
import { IdleTenants } from './idle-tenants.ts';
import type { LeasedLimit, Need } from './leased-limit.ts';
import { countersRefusal, LimitRefusal } from './refusal.ts';
import { ReturnCalls } from './return-calls.ts';
import { TenantLimits, type Lease } from './tenant-limits.ts';
import { UnsetBudgets } from './unset-budgets.ts';
import type { RequestDemand } from './waiting-request.ts';
import { maxCallCounters } from '../bounds.ts';

export interface LimiterOptions {
  leases: {
    /** One grant for each ask, in their order. */
    lease: (request: LeaseRequest) => Promise<Grant[]>;
  };
  /** The changes of tenants, and of sessions with a first budget. */
  changes: Pick<ChangeWatch, 'stateOf'>;
  /** This replica's id, which changes when it was declared dead. */
  holderId: () => string;
  /** A request was refused. */
  onRefused: (tenantId: string, error: AppError) => void;
  registry: Registry;
}

/** Tenant and key with the limits a request counts against. */
export interface Payer {
  tenantId: string;
  /** Null if no request with a key began the work: then only the tenant's limits count. */
  apiKeyId: string | null;
  settings: KeySettings;
}

/**
 * Limits and budgets as this replica leases and spends them (ADR 13). A request is admitted in two steps before its
 * provider is called, and settled when it is over.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  readonly #tenants = new Map<string, TenantLimits>();
  readonly idleTenants = new IdleTenants(this.#tenants);
  readonly #returnCalls = new ReturnCalls();
  readonly #unsetBudgets: UnsetBudgets;
  readonly #refusals: Counter<'code'>;
  readonly #policyRefusals: Counter<'resource'>;
  #holderId = '';
  #sequence = 0n;
  #leasedAt = -Infinity;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#unsetBudgets = new UnsetBudgets(options.changes);
    this.#refusals = counter(
      options.registry,
      'gatehouse_limit_refusals_total',
      'Requests rejected by a limit or a budget, or because it could not be checked, by the code of the error',
      ['code'],
    );
    this.#policyRefusals = counter(
      options.registry,
      'gatehouse_policy_refusals_total',
      'Requests refused by a policy, by the limited resource',
      ['resource'],
    );
  }

  /**
   * The first step, before the body is read: takes a slot of each limit of concurrency, and counts the request, which
   * costs time even if its body is refused. Throws 429 `rate_limit_exceeded`, and 503 while nothing can be leased.
   */
  arrive(payer: Payer): Admission | Promise<Admission> {
    const admission = new Admission();
    const limits = limitsOf(payer).filter(countsOnArrival);
    if (limits.length === 0) return admission;
    return this.#take(payer, async (tenant) => {
      await tenant.admit(admission, { needs: needsOf(tenant, limits, () => 1n) });
      return admission;
    });
  }

  /**
   * The second step: takes what the body decides of tokens and budgets, and again what each further call may use.
   * Returns the most tokens of an answer where a budget does not hold the whole call; null where it does. Throws 429
   * `rate_limit_exceeded`, `insufficient_quota` or `too_many_counters`, 403 `model_unpriced`, 503 while nothing can be
   * leased, and the reason of `signal`.
   */
  admit(admission: Admission, payer: Payer, call: CallAmounts): number | null | Promise<number | null> {
    const limits = limitsOf(payer).filter(({ resource }) => isSpent(resource));
    if (limits.length === 0 && call.counted === undefined) return null;
    const { tenantId } = payer;
    const counters = (call.counted?.counters ?? []).filter((each) => !this.#unsetBudgets.has(tenantId, each));
    const take = async (tenant: TenantLimits): Promise<number | null> => {
      assertFewCounters(tenant, counters);
      const demand = new CallDemand(tenant, { limits, counters, call, admission });
      return demand.tokensOf(await tenant.admit(admission, demand, call.signal));
    };
    return this.#take(payer, take, (error) => !isPassedOver(error, call.counted));
  }

  /**
   * Takes one of the counts of tokens a key and its tenant have per minute: no runs, and of no other limit. Throws 429
   * `rate_limit_exceeded`, and 503 while nothing can be leased.
   */
  async count(payer: { tenantId: string; apiKeyId: string }): Promise<void> {
    const admission = new Admission();
    const limits = [payer.apiKeyId, payer.tenantId].map((subjectId) => ({
      subjectId,
      resource: Resource.COUNTS,
    }));
    await this.#take(payer, (tenant) =>
      tenant.admit(admission, { needs: needsOf(tenant, limits, () => 1n) }),
    );
    admission.release();
  }

  /** The limits of tokens per minute, of the tenant and of the key; null without one. Throws as `arrive` does. */
  async tokensPerMinute(payer: Payer): Promise<{ tenant: bigint | null; key: bigint | null }> {
    const limits = limitsOf(payer).filter(({ resource }) => resource === Resource.TOKENS);
    if (limits.length === 0) return { tenant: null, key: null };
    const admission = new Admission();
    return this.#take(payer, async (tenant) => {
      await tenant.admit(admission, { needs: needsOf(tenant, limits, () => 0n) });
      admission.release();
      const mostOf = (subjectId: string | null): bigint | null =>
        limits.some((limit) => limit.subjectId === subjectId) && subjectId !== null
          ? tenant.limit(subjectId, Resource.TOKENS).max
          : null;
      return { tenant: mostOf(payer.tenantId), key: mostOf(payer.apiKeyId) };
    });
  }

  /** Whether this replica has counted in a budget of a session of late: settings say so a second later. */
  countsSessions(tenantId: string): boolean {
    return this.#tenants.get(tenantId)?.countsSessions === true;
  }

  /** The tenant service has charged what a run of this replica cost. */
  settled(tenantId: string, charges: readonly BudgetCharge[], costPico: bigint): void {
    const tenant = this.#tenants.get(tenantId);
    for (const { subjectId, windowStart } of charges)
      tenant?.settled(subjectId, costPico, BigInt(windowStart));
  }

  /** Whether anything is leased, or was a short time ago. */
  get inUse(): boolean {
    return this.#tenants.size > 0 || monotonicMs() - this.#leasedAt < minuteMs;
  }

  /** Starts over if this replica was declared dead: the instance declaring it releases what the old id held. */
  renew(): void {
    const holderId = this.#options.holderId();
    if (holderId === this.#holderId) return;
    this.#holderId = holderId;
    for (const tenant of this.#tenants.values()) tenant.renew(holderId);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#tenants.values()].map((tenant) => tenant.stop()));
  }

  async #take<Taken>(
    { tenantId }: Pick<Payer, 'tenantId'>,
    take: (tenant: TenantLimits) => Promise<Taken>,
    isNoted: (error: unknown) => boolean = () => true,
  ): Promise<Taken> {
    try {
      return await take(this.#tenant(tenantId));
    } catch (error) {
      if (isNoted(error)) this.#noteRefusal(tenantId, error);
      throw error;
    }
  }

  #noteRefusal(tenantId: string, error: unknown): void {
    if (!(error instanceof AppError) || error.code === 'client_closed_request') return;
    this.#refusals.inc({ code: error.code });
    if (error instanceof LimitRefusal && error.limit.counter !== null)
      this.#policyRefusals.inc({ resource: resourceNames[error.limit.resource] ?? 'other' });
    this.#options.onRefused(tenantId, error);
  }

  #tenant(tenantId: string): TenantLimits {
    this.renew();
    const known = this.#tenants.get(tenantId);
    if (known !== undefined) return known;
    const lease: Lease = (asks, demands) => this.#lease(tenantId, asks, demands);
    const made = new TenantLimits(lease, this.#holderId, { returnCalls: this.#returnCalls });
    this.#tenants.set(tenantId, made);
    return made;
  }

  async #lease(tenantId: string, asks: Ask[], demands: Demand[]): Promise<Grant[]> {
    this.#sequence += 1n;
    const leasedAt = monotonicMs();
    this.#leasedAt = leasedAt;
    const grants = await this.#options.leases.lease({
      holderId: this.#holderId,
      sequence: this.#sequence,
      tenantId,
      asks,
      demands,
    });
    this.#unsetBudgets.note(asks, grants, leasedAt);
    return grants;
  }
}

const resourceNames: Partial<Record<Resource, string>> = {
  [Resource.REQUESTS]: 'requests',
  [Resource.TOKENS]: 'tokens',
  [Resource.CONCURRENCY]: 'concurrency',
  [Resource.BUDGET]: 'budget',
};

/** The amounts of one provider call. */
export interface CallAmounts {
  amounts: RequestAmounts;
  /** The fewest tokens of an answer with which the call is worth making; null if their limit may not be lowered. */
  leastTokens: number | null;
  /** Aborts when the answer is no longer wanted. */
  signal: AbortSignal;
  /** The counters of policies in which it counts, for the called model; none without policies. */
  counted?: CountedCall;
}

/** The call of one model, as policies count it. */
export interface CountedCall {
  counters: readonly PolicyCounter[];
  /** The amounts of a call of the model. */
  amounts: RequestAmounts;
  /** Whether another model may be called, if this one has no room in its policies. */
  hasAlternative: boolean;
}

/** Whether the refusal is of the called model alone, and another model may be called: the request is not refused. */
export function isPassedOver(error: unknown, counted: CountedCall | undefined): error is LimitRefusal {
  return counted?.hasAlternative === true && error instanceof LimitRefusal && isOfModel(error.limit);
}

function isOfModel({ counter }: LeasedLimit): boolean {
  return counter !== null && dependsOnModel(counter.policy);
}

/** Needs of a provider call, or of a cheaper one with the tokens the budgets can pay. */
class CallDemand implements RequestDemand {
  readonly needs: readonly Need[];
  readonly #tenant: TenantLimits;
  readonly #options: DemandOptions;
  readonly #counters: readonly Limit[];
  readonly #tokens = new Map<readonly Need[], number>();

  /** Throws 403 `model_unpriced`. */
  constructor(tenant: TenantLimits, options: DemandOptions) {
    this.#tenant = tenant;
    this.#options = options;
    this.#counters = options.counters.flatMap(limitsOfCounter);
    this.needs = this.#needsFor(null);
  }

  /** See {@link RequestDemand}. */
  isRefusedAt(limit: LeasedLimit): boolean {
    return this.#options.call.counted?.hasAlternative === true && isOfModel(limit);
  }

  /** See {@link RequestDemand}. */
  spentOf(limit: LeasedLimit): bigint {
    return this.#options.admission.heldOf(limit);
  }

  /** See {@link RequestDemand}. */
  lowered(left: (limit: LeasedLimit) => bigint): Need[] | null {
    const { amounts, leastTokens } = this.#options.call;
    const budgets = this.needs.filter(
      ({ limit }) => limit.resource === Resource.BUDGET && limit.max !== null,
    );
    if (budgets.length === 0 || leastTokens === null || leastTokens >= amounts.tokensEach) return null;
    const scarcest = budgets.map(({ limit }) => left(limit)).reduce((a, b) => (a < b ? a : b));
    const tokens = amounts.tokensFor(scarcest, leastTokens);
    if (tokens === null) return null;
    const needs = this.#needsFor(tokens);
    this.#tokens.set(needs, tokens);
    return needs;
  }

  /** The needs of the whole call, or of one with at most `tokens` of an answer. */
  #needsFor(tokens: number | null): Need[] {
    const { limits, call, admission } = this.#options;
    const { amounts, counted } = call;
    const modelAmounts = counted?.amounts ?? amounts;
    const amountOf = amountsOf(tokens === null ? amounts : amounts.limited(tokens));
    const amountInPolicies = amountsOf(tokens === null ? modelAmounts : modelAmounts.limited(tokens));
    const inPolicies = needsOf(this.#tenant, this.#counters, amountInPolicies);
    return [
      ...needsOf(this.#tenant, limits, amountOf),
      ...inPolicies.filter(({ limit }) => !admission.hasCounted(limit)),
    ];
  }

  /** The most tokens of an answer fitting the needs of a cheaper call; null for the whole one. */
  tokensOf(needs: readonly Need[]): number | null {
    return this.#tokens.get(needs) ?? null;
  }
}

interface DemandOptions {
  limits: readonly Limit[];
  /** Those of the called model with limits. */
  counters: readonly PolicyCounter[];
  call: CallAmounts;
  admission: Admission;
}

function assertFewCounters(tenant: TenantLimits, counters: readonly PolicyCounter[]): void {
  const counter = counters[maxCallCounters];
  if (counter === undefined) return;
  const [resource = Resource.UNSPECIFIED] = counter.policy.limited;
  throw countersRefusal(counter, tenant.limit(counter.id, resource, counter));
}

function amountsOf(amounts: RequestAmounts): (resource: Resource) => bigint {
  return (resource) => amounts.amountOf(resource);
}

/** One limit of the tenant, of one of its keys, or of a counter. */
interface Limit {
  subjectId: string;
  resource: Resource;
  counter?: PolicyCounter;
  /** Amount without need of a lease. Default: 0. */
  allowance?: bigint;
  /** Whether nothing is reserved: the amount is charged once it is spent. */
  chargesOnly?: boolean;
}

/** A policy with `enforce: false` refuses nothing: its budget is charged without reservation. */
function limitsOfCounter(counter: PolicyCounter): Limit[] {
  const { limited, enforce } = counter.policy;
  const resources = enforce ? limited : limited.filter((resource) => resource === Resource.BUDGET);
  return resources.map((resource) => ({ subjectId: counter.id, counter, resource, chargesOnly: !enforce }));
}

function countsOnArrival({ resource }: Limit): boolean {
  return !isSpent(resource);
}

function needsOf(
  tenant: TenantLimits,
  limits: readonly Limit[],
  amountOf: (resource: Resource) => bigint,
): Need[] {
  return limits.map(({ subjectId, resource, counter: counted, allowance = 0n, chargesOnly = false }) => {
    const limit = tenant.limit(subjectId, resource, counted);
    limit.allowance = allowance;
    if (chargesOnly) return { limit, amount: 0n };
    if (limit.mayBeUnset(monotonicMs())) return needIfSet(limit, amountOf);
    return { limit, amount: amountOf(resource) };
  });
}

/** The need of a budget without a maximum, as far as is known. Unless it turns out to be set, a model without a price may be called. */
function needIfSet(limit: LeasedLimit, amountOf: (resource: Resource) => bigint): Need {
  try {
    return { limit, amount: amountOf(limit.resource) };
  } catch (error) {
    if (!(error instanceof ModelUnpriced)) throw error;
    return { limit, amount: maxPico, unpriced: error };
  }
}

function limitsOf({ tenantId, apiKeyId, settings }: Payer): Limit[] {
  return [
    ...settings.limited.map((resource) => ({
      subjectId: tenantId,
      resource,
      allowance: resource === Resource.CONCURRENCY ? settings.unleasedRequests : 0n,
    })),
    ...(apiKeyId === null ? [] : settings.keyLimited.map((resource) => ({ subjectId: apiKeyId, resource }))),
  ];
}
