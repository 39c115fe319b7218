import { minuteMs } from '@gatehouse/kit/bounds';
import type { limitNames } from '@gatehouse/contract/alert-types';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import { cutText } from '@gatehouse/events/cut-text';
import type { NewAlert } from '@gatehouse/events/alert-event';
import type { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { usdOf } from '@gatehouse/kit/money';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { InvalidCatalogue } from '../catalogue/catalogue-watch-job.ts';
import type { Guardrail } from '../policies/guardrail.ts';
import type { PolicyCounter } from '../policies/policy.ts';
import type { LeasedLimit } from '../limits/leased-limit.ts';
import { LimitRefusal } from '../limits/refusal.ts';
import { ModelUnpriced } from '../limits/request-amounts.ts';
import { GroupCommit } from '../shared/group-commit.ts';
import type { Attempt, RunEnd } from '../runs/run.ts';
import type { StartedRun } from '../runs/run-record.ts';
import { maxProblemChars, maxProblems, maxWaitingAlerts, shortRetryMs } from '../bounds.ts';
import { Throttle } from '../shared/throttle.ts';

const nameOf = new Map<Resource, (typeof limitNames)[number]>([
  [Resource.REQUESTS, 'requests'],
  [Resource.TOKENS, 'tokens'],
  [Resource.CONCURRENCY, 'concurrency'],
  [Resource.BUDGET, 'budget'],
]);

/** A text blocked by a guardrail. */
export interface BlockedText {
  tenantId: string;
  agentId: string | null;
  guardrail: { id: string; name: string };
  on: GuardedText;
}

/** A guardrail without a verdict: its check can't be made, or failed. */
export interface FailingGuardrail {
  tenantId: string;
  guardrail: Pick<Guardrail, 'id' | 'name' | 'onError'>;
}

/** Alerts about runs, limits, providers and the catalogue. */
export class Alerts {
  readonly #log: Logger;
  readonly #throttle = new Throttle(minuteMs);
  readonly #writes: GroupCommit<NewAlert>;

  constructor({ pool, raise, log }: { pool: Pool; raise: RaiseAlert; log: Logger }) {
    this.#log = log;
    this.#writes = new GroupCommit({
      commit: (alerts) =>
        withTransaction(pool, async (db) => {
          for (const alert of alerts) await raise(db, alert);
        }),
      isOutage: isDatabaseOutage,
      maxItems: 100,
      retry: {
        everyMs: shortRetryMs,
        maxWaiting: maxWaitingAlerts,
        onOutage: (error, waiting) => log.warn({ err: error, waiting }, 'alerts wait for the database'),
      },
    });
  }

  /** Alerts about the end of a run. Write them in the transaction recording the end. */
  alertOfRun(run: StartedRun, end: RunEnd, attempts: readonly Attempt[]): NewAlert[] {
    const alerts = [this.#failed(run, end)];
    for (const { cost, provider, model } of attempts)
      if (cost === null) alerts.push(this.#unpriced(provider, model));
    return alerts.filter((alert) => alert !== null);
  }

  /** A request was refused before any provider call. */
  refused(tenantId: string, error: AppError): void {
    const alert = this.#alertOfRefusal(tenantId, error);
    if (alert !== null) this.#raise(alert);
  }

  /** A guardrail has blocked a text of a run. */
  guardrailBlocked({ tenantId, agentId, guardrail: { id, name }, on }: BlockedText): void {
    if (!this.#throttle.passes(`guardrail.blocked/${tenantId}/${id}`)) return;
    const data = { guardrail_id: id, guardrail: name, on, agent_id: agentId };
    this.#raise({ id: newId(), tenant_id: tenantId, type: 'guardrail.blocked', data });
  }

  /** The check of a guardrail has no verdict on texts of a run. */
  guardrailFailing({ tenantId, guardrail: { id, name, onError } }: FailingGuardrail): void {
    if (!this.#throttle.passes(`guardrail.failing/${tenantId}/${id}`)) return;
    const data = { guardrail_id: id, guardrail: name, on_error: onError };
    this.#raise({ id: newId(), tenant_id: tenantId, type: 'guardrail.failing', data });
  }

  /** The breaker of a deployment has opened for all tenants. */
  providerDown(provider: string, model: string): void {
    if (this.#throttle.passes(`provider.down/${provider}/${model}`))
      this.#raise({ id: newId(), tenant_id: null, type: 'provider.down', data: { provider, model } });
  }

  /** A provider has begun to refuse a key, which is named by its position. */
  providerKeyFailing(provider: string, key: number): void {
    if (this.#throttle.passes(`provider_key.failing/${provider}/${key}`))
      this.#raise({
        id: newId(),
        tenant_id: null,
        type: 'provider_key.failing',
        data: { provider, key, provider_key_id: null, prefix: null },
      });
  }

  /** The file of the model catalogue has changed, and can't be used. */
  catalogueInvalid({ problems, digest }: InvalidCatalogue): void {
    if (!this.#throttle.passes(`catalogue.invalid/${digest}`)) return;
    const some = problems.slice(0, maxProblems).map((problem) => cutText(problem, maxProblemChars));
    const data = { digest, problems: some, problem_count: problems.length };
    this.#raise({ id: newId(), tenant_id: null, type: 'catalogue.invalid', data });
  }

  async stop(): Promise<void> {
    await this.#writes.stop();
  }

  #failed(run: StartedRun, { status, errorType }: RunEnd): NewAlert | null {
    if (status !== 'error' && status !== 'interrupted') return null;
    const { run_id, tenant_id, trace_id, agent_id, request_model, channel } = run;
    if (!this.#throttle.passes(`run.failed/${tenant_id}/${agent_id}`)) return null;
    const data = { run_id, trace_id, agent_id, request_model, channel, status, error_type: errorType };
    // One run fails once.
    return { id: run_id, tenant_id, type: 'run.failed', data };
  }

  #alertOfRefusal(tenantId: string, error: AppError): NewAlert | null {
    if (error instanceof ModelUnpriced) {
      const { provider, pattern, id } = error.model;
      // No provider has answered to the name, which may be an invented one.
      return this.#unpriced(provider.name, pattern?.id ?? id);
    }
    if (!(error instanceof LimitRefusal)) return null;
    const { resource, max, counter } = error.limit;
    if (error.code === 'too_many_counters') return this.#countersFull(tenantId, counter);
    const limit = nameOf.get(resource);
    // A policy that forbids a model, say, does so by intention.
    if (limit === undefined || error.code === 'forbidden_by_policy') return null;
    if (!this.#throttle.passes(`limit.exceeded/${tenantId}`)) return null;
    const maximum = resource === Resource.BUDGET ? usdOf(max ?? 0n) : String(max ?? 0n);
    const data = { limit, maximum, ...subjectOf(tenantId, error.limit) };
    return { id: newId(), tenant_id: tenantId, type: 'limit.exceeded', data };
  }

  #countersFull(tenantId: string, counter: PolicyCounter | null): NewAlert | null {
    if (counter === null || !this.#throttle.passes(`policy.counters_full/${tenantId}`)) return null;
    const data = { policy_id: counter.policy.id, policy: counter.policy.name };
    return { id: newId(), tenant_id: tenantId, type: 'policy.counters_full', data };
  }

  #unpriced(provider: string, model: string): NewAlert | null {
    if (!this.#throttle.passes(`model.unpriced/${provider}/${model}`)) return null;
    return { id: newId(), tenant_id: null, type: 'model.unpriced', data: { provider, model } };
  }

  #raise(alert: NewAlert): void {
    this.#writes
      .submit(alert)
      .catch((error: unknown) =>
        this.#log.error({ err: error, type: alert.type }, 'failed to record an alert'),
      );
  }
}

/** The holder of a limit, in the words of events. */
function subjectOf(tenantId: string, { subjectId, counter }: LeasedLimit) {
  if (counter !== null) {
    const { policy, label } = counter;
    const named = { policy: policy.name, value: policy.per === null ? null : label };
    return { subject_type: 'policy', subject_id: policy.id, ...named } as const;
  }
  const type = subjectId === tenantId ? ('tenant' as const) : ('api_key' as const);
  return { subject_type: type, subject_id: subjectId, policy: null, value: null };
}
