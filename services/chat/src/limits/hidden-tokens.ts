import type { Model } from '../catalogue/catalogue.ts';
import { budgetOfEffort } from '../translation/effort.ts';
import type { AcceptedRequest } from '../dialects/accepted-request.ts';
import type { Fields } from '@gatehouse/kit/fields';
import { toTokens } from '../usage/tokens.ts';

/** The thoughts that a request allows, by which those are estimated that no provider reported. */
export interface ThoughtBounds {
  /** Tokens of the thoughts of all answers; null where the model decides. */
  thoughts: number | null;
  /** Tokens of all answers, thoughts included; null without a limit. */
  output: number | null;
  choices: number;
}

/** `defaults`: an agent's parameters. */
export function thoughtBounds(request: AcceptedRequest, defaults: Fields): ThoughtBounds {
  const { choices, maxTokens } = request.asked(defaults);
  const output = maxTokens === null ? null : choices * maxTokens;
  if (request.operation === 'embeddings') return { thoughts: 0, output, choices };
  const { budgets, effort } = request.thinking(defaults);
  const named = effort === null ? null : budgetOfEffort(effort);
  const each = budgets.length > 0 ? Math.max(0, ...budgets) : named;
  return { thoughts: each === null ? null : choices * each, output, choices };
}

/** The effort of a model where the request names none. */
const usualEffort = 'medium';

/**
 * An estimate of the thoughts behind an answer that the client has not seen: no more than the request allows, and than the
 * deployment makes in the time of the call. `text`: the tokens that were seen. `generated`: tokens that the deployment makes
 * in that time, null where that is not known: then the request's own bound counts, or the usual one of a model that thinks
 * in any case.
 */
export function hiddenTokens(
  { reasoning, api }: Pick<Model, 'reasoning' | 'api'>,
  { thoughts, output, choices }: ThoughtBounds,
  { text, generated }: { text: number; generated: number | null },
): number {
  // Models of these APIs think where they are asked to.
  const isAsked = api !== 'messages' && api !== 'converse';
  const unasked = isAsked ? choices * (budgetOfEffort(usualEffort) ?? 0) : 0;
  const allowed = reasoning === false ? 0 : (thoughts ?? unasked);
  const isKnown = thoughts !== null || reasoning === true;
  const inTime = generated === null ? (isKnown ? allowed : 0) : generated - text;
  return toTokens(Math.min(allowed, inTime, (output ?? Infinity) - text));
}
