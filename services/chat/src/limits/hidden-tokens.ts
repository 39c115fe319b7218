import { dialectOf } from '@gatehouse/dialects/dialects';
import type { Model } from '../catalogue/catalogue.ts';
import type { Target } from '../catalogue/target.ts';
import { budgetOfEffort } from '@gatehouse/dialects/translation/effort';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import { toTokens } from '@gatehouse/dialects/usage/tokens';
import { mostOutput } from './upper-bounds.ts';

/** Bounds of an answer, to estimate tokens not reported by a provider. */
export interface AnswerBounds {
  /** Tokens of the thoughts of all answers, as named by the request; null where the model decides. */
  thoughts: number | null;
  choices: number;
  /** Tokens of all answers, thoughts included, reserved for a call of a model. */
  outputOf: ReturnType<typeof mostOutput>;
}

export function answerBounds(
  request: AcceptedRequest,
  { defaults }: Pick<Target, 'defaults'>,
  headers: Readonly<Record<string, string>>,
): AnswerBounds {
  const { choices } = request.requestedAmounts(defaults);
  const outputOf = mostOutput(request, defaults, headers);
  if (request.operation !== 'chat') return { thoughts: 0, choices, outputOf };
  const { budgets, effort } = request.thinking(defaults);
  const named = effort === null ? null : budgetOfEffort(effort);
  const each = budgets.length > 0 ? Math.max(0, ...budgets) : named;
  return { thoughts: each === null ? null : choices * each, choices, outputOf };
}

/** Effort of a model where the request names no effort. */
const usualEffort = 'medium';

/** Tokens of an answer unseen by the client: no more than the call has reserved, and than its time allows. */
export interface Unseen {
  /** Tokens already seen. */
  text: number;
  /** Tokens made by the deployment in the time of the call. */
  generated: number;
  /** Tokens reserved for the answer. */
  reservedTokens: number;
}

/**
 * Estimate of the thoughts behind an answer unseen by the client: no more than the request allows, or than is usual for
 * a model thinking unasked. A model of an unknown kind thinks where the request says so.
 */
export function hiddenTokens(
  { reasoning, api }: Pick<Model, 'reasoning' | 'api'>,
  { thoughts, choices }: Pick<AnswerBounds, 'thoughts' | 'choices'>,
  { text, generated, reservedTokens }: Unseen,
): number {
  if (reasoning === false) return 0;
  const thinksUnasked = reasoning === true && dialectOf(api)?.reasonsUnasked === true;
  const usual = thinksUnasked ? choices * (budgetOfEffort(usualEffort) ?? 0) : 0;
  return toTokens(Math.min(thoughts ?? usual, generated - text, reservedTokens - text));
}
