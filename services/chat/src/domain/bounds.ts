import type { Model } from './catalogue.ts';
import type { CompletionRequest } from './completion-request.ts';
import type { Target } from './target.ts';

/** What a request can come to at most, which is what is reserved for it (architecture decision 6). */

/** Tokens that a picture, a sound or a file counts for: their bytes say nothing, and only the provider can tell. */
const attachmentTokens = 4_096;

/** Members of content parts whose text is not read as text. */
const attachments: Record<string, string> = { image_url: 'url', input_audio: 'data', file: 'file_data' };

/** OpenAI's two names of one limit. */
const limitNames = ['max_completion_tokens', 'max_tokens'];

/** More than any request comes to, so that sums stay exact. */
const tokenCap = 1e9;

/** What a call of one model reads and writes at most. */
export interface MostTokens {
  model: Model;
  input: number;
  output: number;
}

/** For each model that the request may go to. */
export function mostTokens(request: CompletionRequest, target: Target): MostTokens[] {
  const input = mostInputTokens(request, target);
  return target.chain.map((model) => ({ model, input, output: mostOutputTokens(request, target, model) }));
}

/**
 * Tokens of the prompt at most. No tokenizer makes more tokens of a text than it has bytes, and the JSON around the
 * messages has more bytes than the tokens that providers add for each.
 */
export function mostInputTokens(request: CompletionRequest, target: Target): number {
  const added = Buffer.byteLength(target.systemPrompt ?? '') + JSON.stringify(target.defaults).length;
  const attached = attachmentsOf(request);
  const bytes = request.body.length + added - attached.bytes;
  return Math.min(tokenCap, bytes + attached.count * attachmentTokens);
}

/** Tokens of all answers at most. */
export function mostOutputTokens(request: CompletionRequest, target: Target, model: Model): number {
  if (request.operation === 'embeddings') return 0;
  // What the client names, if only with null, replaces the agent's default of either name.
  const isGiven = limitNames.some((name) => Object.hasOwn(request.fields, name));
  const source = isGiven ? request.fields : target.defaults;
  const asked = limitNames
    .map((name) => source[name])
    .filter((value) => typeof value === 'number' && value >= 0);
  const most = asked.length === 0 ? Infinity : Math.max(...(asked as number[]));
  const choices = Math.max(request.choices, numberOf(target.defaults['n']));
  return Math.min(tokenCap, Math.ceil(choices * Math.min(most, model.max_output_tokens)));
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 1;
}

function attachmentsOf({ fields }: CompletionRequest): { count: number; bytes: number } {
  const found = { count: 0, bytes: 0 };
  const messages = Array.isArray(fields['messages']) ? (fields['messages'] as { content?: unknown }[]) : [];
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content as (Record<string, unknown> | null)[]) {
      const data = part === null ? null : attachmentData(part);
      if (data === null) continue;
      found.count += 1;
      found.bytes += data.length;
    }
  }
  return found;
}

function attachmentData(part: Record<string, unknown>): string | null {
  for (const [name, member] of Object.entries(attachments)) {
    const data = (part[name] as Record<string, unknown> | null | undefined)?.[member];
    if (typeof data === 'string') return data;
  }
  return null;
}
