import type { Dialect } from '@gatehouse/dialects/dialect';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import type { TenantShare } from '@gatehouse/kit/body-budget';
import { runFactsOf, type Target } from '../catalogue/target.ts';
import { isUnavailable, type GuardrailIndex } from '../policies/guardrail.ts';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { Actor } from '../shared/actor.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';

/** A request whose models are known. */
export interface UnguardedRequest {
  dialect: Pick<Dialect, 'texts'>;
  actor: Actor;
  settings: Pick<TenantSettings, 'guardrails' | 'storesContent'>;
  target: Target;
  sessionId: string | null;
  /** Its text with everything it continues. */
  text: Buffer;
  /** The body as its client sent it. */
  sent: Buffer;
  /** Whether its texts are of earlier requests, so a match is replaced in place of a refusal. */
  isOlder?: boolean;
  share: Pick<TenantShare, 'grow' | 'part'>;
  /** Aborts when the request is no longer wanted. */
  signal: AbortSignal;
}

/** A request as its guardrails let it pass. */
export interface GuardedRequest {
  /** Null without any. */
  guardrails: RunGuardrails | null;
  /** The same buffers without changes, and for a request to be refused. */
  text: Buffer;
  sent: Buffer;
}

/**
 * Finds the guardrails of a run, and checks the texts of its request: once, before any translation, so everything
 * sent, shown or stored of it has their changes. Whether it is refused is in `guardrails`: limits are checked first.
 */
export function guardedRequest(
  guardrails: Guardrails,
  request: UnguardedRequest,
): GuardedRequest | Promise<GuardedRequest> {
  const { settings, text, sent } = request;
  const { guardrails: index } = settings;
  return index === null ? { guardrails: null, text, sent } : guarded(guardrails, index, request);
}

async function guarded(
  known: Guardrails,
  index: GuardrailIndex,
  request: UnguardedRequest,
): Promise<GuardedRequest> {
  const { dialect, actor, settings, target, text, sent, isOlder = false, share, signal } = request;
  const { tenantId } = actor;
  const models = [...new Set(target.chain.map(({ id }) => id))];
  const run = { tenantId, selected: runFactsOf(request), models, isOlder };
  const guardrails = await known.guardrailsOf(index, run, signal);
  if (guardrails === null || guardrails.refusal !== null) return { guardrails, text, sent };
  const inTurn = cooperativeFor(text, tenantId);
  const passed = async (body: Buffer, isRepeat: boolean): Promise<Buffer> => {
    const view = share.part();
    const grow = (bytes: number): void => view.grow(bytes);
    try {
      return await runSteps(
        guardrails.requestPassed(body, dialect.texts.request, { isRepeat, grow }),
        inTurn,
      );
    } finally {
      view.release();
    }
  };
  let whole: Buffer;
  try {
    whole = await passed(text, false);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    guardrails.becomeUnavailable(error);
    return { guardrails, text, sent };
  }
  if (whole !== text) share.grow(whole.length);
  return {
    guardrails,
    text: whole,
    sent: text === sent || !settings.storesContent ? whole : await passed(sent, true),
  };
}
