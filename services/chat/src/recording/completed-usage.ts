import type { Model } from '../catalogue/catalogue.ts';
import { hiddenTokens, type AnswerBounds } from '../limits/hidden-tokens.ts';
import type { AttemptOutcome } from '../providers/open-call.ts';
import type { AttemptStatus, RunIdentity } from '../runs/run.ts';
import { estimateTokens, type TextSample } from '@gatehouse/dialects/usage/token-estimate';
import { toTokens } from '@gatehouse/dialects/usage/tokens';
import { noUsage, withCounted, type Usage } from '@gatehouse/dialects/usage/usage';

const stopped: ReadonlySet<AttemptStatus> = new Set(['cancelled', 'interrupted']);

/** The parts of a request by which its usage is estimated. */
interface EstimatedRequest extends Pick<RunIdentity, 'tenantId' | 'operation' | 'streamed'> {
  prompt: () => TextSample;
  bounds: AnswerBounds;
}

/**
 * Usage as reported by the provider. The gateway counts what is missing, and zeros where something was answered,
 * estimates the thoughts behind it, and marks the usage as estimated; only then it is a promise. `reservedTokens`: tokens
 * for the answer.
 */
export function completedUsage(
  { usage, status, answer, generated = 0 }: AttemptOutcome,
  { model, reservedTokens }: { model: Model; reservedTokens: number },
  { tenantId, operation, streamed, prompt, bounds }: EstimatedRequest,
): Usage | Promise<Usage> {
  const answerChars = answer?.chars ?? 0;
  const reported = usage ?? noUsage;
  const isAnswered = answerChars > 0 || (status === 'ok' && operation !== 'chat');
  // A stream may have counted calls of tools before its tokens.
  const isBegun = isAnswered || reported.outputTokens > 0 || reported.toolCalls !== undefined;
  const lacksInput = reported.inputTokens === 0 && (usage === null || isBegun);
  // A client's leaving, or a stop, has stopped a model which may have thought until then.
  const hides = reported.outputTokens === 0 && (answerChars > 0 || stopped.has(status));
  if (usage !== null && !lacksInput && !hides) return usage;
  // A whole answer comes at its end, so nothing of one shows how much was made.
  const isUnseen = hides && answerChars === 0 && !streamed;
  const counted = async (): Promise<Usage> => {
    const text = hides && answer ? await estimateTokens(answer, tenantId) : 0;
    return withCounted(reported, {
      input: lacksInput ? await estimateTokens(prompt, tenantId) : 0,
      output: isUnseen ? toTokens(Math.min(generated, reservedTokens)) : text,
      reasoning: hides && !isUnseen ? hiddenTokens(model, bounds, { text, generated, reservedTokens }) : 0,
    });
  };
  return counted();
}

/** Whether a provider counted the prompt once, and nothing of its own tools with it. */
export function isCount({ estimated, inputTokens, samplings, toolCalls }: Usage): boolean {
  return !estimated && inputTokens > 0 && samplings === undefined && toolCalls === undefined;
}
