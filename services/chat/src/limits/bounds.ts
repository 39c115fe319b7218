import type { Fields } from '@gatehouse/kit/fields';
import type { Model } from '../catalogue/catalogue.ts';
import type { CompletionRequest } from '../dialects/openai/request.ts';
import type { CostBounds } from '../catalogue/price.ts';
import { addedTexts, type Target } from '../catalogue/target.ts';
import { limitNames } from '../dialects/openai/request-rewrite.ts';
import type { TokenClass } from '../usage/usage.ts';

/** Upper bounds of what a request can use, which are reserved for it (ADR 13). */

/** Tokens that a picture, a sound or a file counts for. Only the provider can count them; their size is no measure. */
const attachmentTokens = 4_096;

/** Members of content parts that are attachments, and the member of theirs whose text is not read as text. */
const attachments: Record<string, string> = {
  image_url: 'url',
  video_url: 'url',
  audio_url: 'url',
  input_audio: 'data',
  file: 'file_data',
};

/** Tokens of an answer where neither the request nor the catalogue has a limit. */
const unlimitedOutputTokens = 4_096;

/** More than any request comes to, so that sums stay exact. */
const tokenCap = 1e9;

/** The most that a call of one model reads and writes, and the service tier that the request asks for. */
export interface MostTokens extends CostBounds {
  model: Model;
  /** Answers that the request asks for: `output` is for all of them. */
  choices: number;
  /** As asked for; null leaves it to the provider. */
  serviceTier: string | null;
}

/** For each model that the request may go to. */
export function mostTokens(request: CompletionRequest, target: Target): MostTokens[] {
  const attached = attachmentsOf(request);
  const input = mostInputTokens(request, target, attached);
  const classes = classesAsked(request, target, attached);
  const tier = fieldOf(request, target, 'service_tier');
  const serviceTier = typeof tier === 'string' ? tier : null;
  const choices = Math.max(request.choices, numberOf(target.defaults['n']));
  return target.chain.map((model) => {
    const output = mostOutputTokens(request, target, model);
    return { model, choices, input, output, classes, serviceTier };
  });
}

/** A call is not worth less. */
const leastOutputTokens = 4_096;

/** Members of requests, by provider, that set how many of the tokens of an answer a model may think. */
const thinkingPaths = [
  ['thinking', 'budget_tokens'],
  ['thinking_budget'],
  ['reasoning', 'max_tokens'],
  ['thinking_config', 'thinking_budget'],
  ['extra_body', 'google', 'thinking_config', 'thinking_budget'],
];

/** The fewest tokens of an answer to which its limit may be lowered; null if it may not be. */
export function leastTokens(request: CompletionRequest, target: Target): number | null {
  if (request.operation === 'embeddings') return null;
  const thinking = thinkingPaths.map((path) => {
    const [first = '', ...others] = path;
    return others.reduce<unknown>(
      (value, name) => (Object(value) as Fields)[name],
      fieldOf(request, target, first),
    );
  });
  // Providers want more than what is for thinking.
  const budgets = thinking.filter((tokens) => typeof tokens === 'number').map((tokens) => tokens + 1);
  return Math.max(leastOutputTokens, ...budgets);
}

/** Classes of tokens that an answer to the request is certain to have. */
function classesAsked(request: CompletionRequest, target: Target, attached: Attachments): TokenClass[] {
  const modalities = fieldOf(request, target, 'modalities');
  const isAsked = (name: string): boolean => Array.isArray(modalities) && modalities.includes(name);
  return [
    ...(attached.audio ? (['inputAudio'] as const) : []),
    ...(isAsked('audio') ? (['outputAudio'] as const) : []),
    ...(isAsked('image') ? (['outputImage'] as const) : []),
  ];
}

/** What the client names, if only with null, replaces the agent's default. */
function fieldOf({ fields }: CompletionRequest, { defaults }: Target, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : defaults[name];
}

/**
 * Tokens of the prompt at most. No tokenizer makes more tokens of a text than it has bytes, and the JSON around the
 * messages has more bytes than the tokens that providers add for each.
 */
export function mostInputTokens(
  request: CompletionRequest,
  target: Target,
  attached = attachmentsOf(request),
): number {
  const added = Buffer.byteLength(`${addedTexts(target).join('')}${JSON.stringify(target.defaults)}`);
  const bytes = request.body.length + added - attached.bytes;
  return Math.min(tokenCap, bytes + attached.count * attachmentTokens);
}

/** Tokens of all answers at most. */
export function mostOutputTokens(request: CompletionRequest, target: Target, model: Model): number {
  if (request.operation === 'embeddings') return 0;
  // What the client names, if only with null, replaces the agent's default of either name.
  const isGiven = limitNames.some((name) => Object.hasOwn(request.fields, name));
  const source = isGiven ? request.fields : target.defaults;
  const asked = limitNames.map((name) => source[name]).filter((value) => typeof value === 'number');
  // Some servers take a negative limit for none.
  const isLimited = asked.length > 0 && asked.every((value) => value >= 0);
  const ofModel = model.max_output_tokens;
  const most = isLimited
    ? Math.min(Math.max(...asked), ofModel ?? Infinity)
    : (ofModel ?? unlimitedOutputTokens);
  const choices = Math.max(request.choices, numberOf(target.defaults['n']));
  return Math.min(tokenCap, Math.ceil(choices * most));
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 1;
}

interface Attachments {
  count: number;
  bytes: number;
  /** Whether one of them is sent as audio. */
  audio: boolean;
}

function attachmentsOf({ fields }: CompletionRequest): Attachments {
  const found: Attachments = { count: 0, bytes: 0, audio: false };
  const messages = Array.isArray(fields['messages']) ? (fields['messages'] as Record<string, unknown>[]) : [];
  for (const { content, audio } of messages) {
    // An earlier answer in audio, by its id.
    if (isObject(audio)) add(found, 'input_audio', audio);
    if (!Array.isArray(content)) continue;
    for (const part of content as (Record<string, unknown> | null)[]) {
      for (const name of Object.keys(attachments)) {
        const value = part?.[name];
        if (isObject(value)) add(found, name, value);
      }
    }
  }
  return found;
}

function add(found: Attachments, name: string, value: object): void {
  const data = (value as Record<string, unknown>)[attachments[name] ?? ''];
  found.count += 1;
  found.bytes += typeof data === 'string' ? data.length : 0;
  found.audio ||= name === 'input_audio' || name === 'audio_url';
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
