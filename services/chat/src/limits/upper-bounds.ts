import type { Model } from '../catalogue/catalogue.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { RequestedAmounts } from '@gatehouse/dialects/dialect';
import type { CostBounds } from '../catalogue/price.ts';
import type { FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import { addedTexts, type Target } from '../catalogue/target.ts';
import type { CountedPrompt } from './counted-prompts.ts';
import { attachmentTokens, outputTokens } from '../bounds.ts';

/** Upper bounds of what a request can use, which are reserved for it (ADR 13). */

/** More than any request comes to, so sums stay exact. */
const tokenCap = 1e9;

/** The most a call of one model reads and writes, and the service tier asked for by the request. */
export interface MostTokens extends CostBounds {
  model: Model;
  /** How often a call reads the prompt: `input` is for all of them. */
  samplings: number;
  /** Texts that a call writes, answers and a summary: `output` is for all of them. */
  choices: number;
  /** As asked for; null leaves it to the provider. */
  serviceTier: string | null;
  /** Tools of the provider with a fee for each call; absent without any. */
  feeTools?: readonly FeeTool[] | undefined;
}

/** Additions of the gateway to a prompt, beside the texts of its target. */
interface AddedInput {
  toolText?: Buffer | null;
  thoughtBytes?: number;
}

/**
 * For each model the request may go to. `headers`: those of the client its API passes on. `toolText`: definitions of
 * tools added by the gateway. `thoughtBytes`: of the reasoning added by it. `prompt`: bounds the input by what providers
 * counted of it.
 */
export function mostTokens(
  request: AcceptedRequest,
  target: Target,
  headers: Readonly<Record<string, string>> = {},
  { toolText = null, thoughtBytes = 0, prompt = null }: AddedInput & { prompt?: CountedPrompt | null } = {},
): MostTokens[] {
  const amounts = request.requestedAmounts(target.defaults);
  const { classes, serviceTier, feeTools, compacts = false } = amounts;
  const samplings = compacts ? 2 : 1;
  const choices = samplings * amounts.choices;
  const { operation } = request;
  const byBytes = mostInputTokens(request, target, { amounts, toolText, thoughtBytes });
  const outputOf = mostOutput(request, target.defaults, headers);
  return target.chain.map((model) => {
    const input = Math.min(tokenCap, samplings * (prompt?.most(model, byBytes) ?? byBytes));
    const output = Math.min(tokenCap, samplings * outputOf(model, null));
    return { model, operation, samplings, choices, input, output, classes, serviceTier, feeTools };
  });
}

/**
 * Tokens of all answers at most, by the model and the tokens of one answer to which a budget has lowered the limit, if it
 * has. The function does not keep the request.
 */
export function mostOutput(
  request: AcceptedRequest,
  defaults: Target['defaults'],
  headers: Readonly<Record<string, string>>,
): (model: Model, lowered: number | null) => number {
  if (request.operation !== 'chat') return () => 0;
  const { choices, maxTokens } = request.requestedAmounts(defaults);
  return (model, lowered) => {
    const most = mostOutputTokens({ choices, maxTokens }, model, headers);
    return lowered === null ? most : Math.min(most, Math.ceil(choices * lowered));
  };
}

/** The fewest tokens of an answer to which its limit may be lowered; null if it may not be. */
export function leastTokens(request: AcceptedRequest, target: Target): number | null {
  if (request.operation !== 'chat') return null;
  // Providers want more than what is for thinking.
  const budgets = request.thinking(target.defaults).budgets.map((tokens) => tokens + 1);
  return Math.max(outputTokens, ...budgets);
}

/**
 * Tokens of the prompt at most. No tokenizer makes more tokens of a text than it has bytes, and the JSON around the
 * messages has more bytes than the tokens added by providers for each.
 */
function mostInputTokens(
  { bytes }: AcceptedRequest,
  target: Target,
  { amounts: { attachments }, toolText, thoughtBytes }: Required<AddedInput> & { amounts: RequestedAmounts },
): number {
  const texts = [...addedTexts(target), JSON.stringify(target.defaults), toolText ?? ''];
  const added = texts.reduce((sum, text) => sum + Buffer.byteLength(text), thoughtBytes);
  return bytes + added - attachments.bytes + attachments.count * attachmentTokens;
}

/** Texts added by the gateway to each request of a conversation. */
export function lastingTexts(
  { systemPrompt, defaults }: Target,
  toolText: Buffer | null,
): (string | Buffer)[] {
  return [systemPrompt, JSON.stringify(defaults), toolText].filter((text) => text !== null);
}

/**
 * Tokens of all answers at most. A beta may lift the limit of the model, as `output-300k-2026-03-24` does for batches:
 * then the limit of the request counts alone.
 */
function mostOutputTokens(
  { choices, maxTokens }: Pick<RequestedAmounts, 'choices' | 'maxTokens'>,
  { max_output_tokens: modelLimit }: Model,
  { 'anthropic-beta': betas }: Readonly<Record<string, string>>,
): number {
  const lasting = betas === undefined ? modelLimit : undefined;
  const each = maxTokens === null ? (modelLimit ?? outputTokens) : Math.min(maxTokens, lasting ?? Infinity);
  return Math.min(tokenCap, Math.ceil(choices * each));
}
