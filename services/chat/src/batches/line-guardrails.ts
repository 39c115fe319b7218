import { dialects } from '@gatehouse/dialects/dialects';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import { AppError } from '@gatehouse/kit/errors';
import type { Target } from '../catalogue/target.ts';
import type { GuardedRun, Guardrails } from '../guardrails/guardrails.ts';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import type { Actor } from '../shared/actor.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';
import type { BatchKind, BatchRequests } from './batch-requests.ts';

export interface LineGuardrailsOptions {
  guardrails: Pick<Guardrails, 'guardrailsOf'>;
  settings: Pick<TenantSettings, 'guardrails'>;
  actor: Pick<Actor, 'tenantId' | 'userId' | 'apiKeyId' | 'groups'>;
}

/** The guardrails of a batch, which check its requests when they are uploaded. */
export class LineGuardrails {
  readonly #options: LineGuardrailsOptions;
  #run: RunGuardrails | null = null;
  #versions: readonly string[] | null = null;

  constructor(options: LineGuardrailsOptions) {
    this.#options = options;
  }

  /** Those behind the checks so far, as they are stored with the requests. */
  get checked(): Pick<BatchRequests, 'guardrails'> {
    const versions = this.#versions ?? [];
    return versions.length === 0 ? {} : { guardrails: versions };
  }

  /**
   * A request as they let it pass: the same buffer without changes. Throws `content_blocked`, and `guardrail_too_slow` for
   * one asking outside, as a batch may have 50,000 requests, and for one on answers or with values to substitute: results
   * are not read.
   */
  async passed(body: Buffer, api: BatchKind['api'], target: Target): Promise<Buffer> {
    const { tenantId } = this.#options.actor;
    if (this.#versions === null) await this.#find(target);
    const run = this.#run;
    if (run === null) return body;
    const checking = run.requestPassed(body, dialects[api].texts.request);
    const passed = await runSteps(checking, cooperativeFor(body, tenantId));
    run.admit();
    return passed;
  }

  /** Until they are known, no request passes. */
  async #find({ chain: [{ id }] }: Target): Promise<void> {
    const { guardrails, settings, actor } = this.#options;
    const { guardrails: index } = settings;
    const batch = guardedBatch(actor, id);
    // `guardrailsOf` ends a slow look-up by itself.
    const { signal } = new AbortController();
    const run = index === null ? null : await guardrails.guardrailsOf(index, batch, signal);
    if (run !== null && run.outside !== null)
      throw new AppError('guardrail_too_slow', 'A guardrail that asks outside checks no batches.');
    if (run !== null && run.substitution !== null)
      throw new AppError('guardrail_too_slow', 'Values come back in no results of batches.');
    if (run?.checksAnswers === true)
      throw new AppError('guardrail_too_slow', 'A guardrail on answers or calls of tools checks no batches.');
    this.#run = run;
    this.#versions = (index?.matching(batch.selected, batch.models) ?? []).map(versionOf);
  }
}

/**
 * Throws `guardrail_too_slow` for a batch of requests unchecked by a guardrail of now: it is younger than their upload, or
 * selects the key of the start.
 */
export function assertChecked(
  { settings, actor }: Omit<LineGuardrailsOptions, 'guardrails'>,
  modelId: string,
  { guardrails: checked = [] }: Pick<BatchRequests, 'guardrails'>,
): void {
  const { selected, models } = guardedBatch(actor, modelId);
  const guardrails = settings.guardrails?.matching(selected, models) ?? [];
  if (guardrails.every((each) => checked.includes(versionOf(each)))) return;
  throw new AppError(
    'guardrail_too_slow',
    'Guardrails have changed since the file was uploaded: upload it again.',
  );
}

/** A batch names one model, and no agent. */
function guardedBatch(actor: LineGuardrailsOptions['actor'], modelId: string): GuardedRun {
  const { tenantId, userId, apiKeyId, groups } = actor;
  return { tenantId, selected: { userId, groups, apiKeyId, agent: null }, models: [modelId] };
}

function versionOf({ id, version }: { id: string; version: number }): string {
  return `${id} ${version}`;
}
