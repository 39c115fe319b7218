/** Tokens of one provider call, in OpenAI's counting: cached and cache writes are part of input, reasoning of output. */
export interface Usage {
  inputTokens: number;
  /** Read from the provider's cache. */
  cachedInputTokens: number;
  /** Written to the provider's cache; where a provider does not tell, 0. */
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Counted by us because the provider did not say. */
  estimated: boolean;
}

/** The same tokens in parts of which none holds another. */
export interface UsageParts {
  uncachedInput: number;
  cachedInput: number;
  cacheWrite: number;
  /** Without reasoning. */
  output: number;
  reasoning: number;
}

export const noUsage: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  estimated: false,
};

type Fields = Record<string, unknown>;

/**
 * Reads a provider's usage object, told by its fields, or null when it is missing or says nothing that can be counted.
 * Figures that contradict each other are cut so that the sum stays what was reported.
 */
export function readUsage(value: unknown): Usage | null {
  if (typeof value !== 'object' || value === null) return null;
  const fields = value as Fields;
  return readOpenAiUsage(fields) ?? readAnthropicUsage(fields) ?? readGoogleUsage(fields);
}

/**
 * `prompt_tokens` includes cached ones and `completion_tokens` includes reasoning, except where `total_tokens` shows
 * more than both: reasoning on top, as xAI tells of, or as Google's OpenAI-compatible address does not.
 */
export function readOpenAiUsage(fields: Fields): Usage | null {
  const input = count(fields['prompt_tokens']);
  if (input === null) return null;
  const answered = count(fields['completion_tokens']) ?? 0;
  const reasoning = detail(fields['completion_tokens_details'], 'reasoning_tokens');
  const onTop = Math.max(0, (count(fields['total_tokens']) ?? 0) - input - answered);
  return toUsage({
    input,
    cached: detail(fields['prompt_tokens_details'], 'cached_tokens'),
    cacheWrite: detail(fields['prompt_tokens_details'], 'cache_write_tokens'),
    output: answered + onTop,
    reasoning: onTop === reasoning ? reasoning : reasoning + onTop,
  });
}

/** `input_tokens` has neither what was read from the cache nor what was written to it. */
export function readAnthropicUsage(fields: Fields): Usage | null {
  const uncached = count(fields['input_tokens']);
  if (uncached === null) return null;
  const cached = count(fields['cache_read_input_tokens']) ?? 0;
  const cacheWrite = count(fields['cache_creation_input_tokens']) ?? 0;
  const output = count(fields['output_tokens']) ?? 0;
  return toUsage({ input: uncached + cached + cacheWrite, cached, cacheWrite, output, reasoning: 0 });
}

/** `promptTokenCount` includes cached ones; thoughts and the prompts of tools are counted apart. */
export function readGoogleUsage(fields: Fields): Usage | null {
  const prompt = count(fields['promptTokenCount']);
  if (prompt === null) return null;
  const reasoning = count(fields['thoughtsTokenCount']) ?? 0;
  return toUsage({
    input: prompt + (count(fields['toolUsePromptTokenCount']) ?? 0),
    cached: Math.min(prompt, count(fields['cachedContentTokenCount']) ?? 0),
    cacheWrite: 0,
    output: (count(fields['candidatesTokenCount']) ?? 0) + reasoning,
    reasoning,
  });
}

/** What the parts cost differs, and their sum is input and output. */
export function partsOf(usage: Usage): UsageParts {
  return {
    uncachedInput: usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens,
    cachedInput: usage.cachedInputTokens,
    cacheWrite: usage.cacheWriteTokens,
    output: usage.outputTokens - usage.reasoningTokens,
    reasoning: usage.reasoningTokens,
  };
}

/** The usage of a run: the sum of its provider calls. */
export function sumUsage(parts: readonly Usage[]): Usage {
  return parts.reduce(
    (sum, part) => ({
      inputTokens: sum.inputTokens + part.inputTokens,
      cachedInputTokens: sum.cachedInputTokens + part.cachedInputTokens,
      cacheWriteTokens: sum.cacheWriteTokens + part.cacheWriteTokens,
      outputTokens: sum.outputTokens + part.outputTokens,
      reasoningTokens: sum.reasoningTokens + part.reasoningTokens,
      estimated: sum.estimated || part.estimated,
    }),
    noUsage,
  );
}

/** `input` and `output` are totals, and no part exceeds its total. */
function toUsage(told: Record<'input' | 'cached' | 'cacheWrite' | 'output' | 'reasoning', number>): Usage {
  const cached = Math.min(told.cached, told.input);
  return {
    inputTokens: told.input,
    cachedInputTokens: cached,
    cacheWriteTokens: Math.min(told.cacheWrite, told.input - cached),
    outputTokens: told.output,
    reasoningTokens: Math.min(told.reasoning, told.output),
    estimated: false,
  };
}

/** More than any call can come to: a broken figure must not overflow the sums and prices that it enters. */
const mostTokens = 1e12;

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= mostTokens
    ? value
    : null;
}

function detail(details: unknown, name: string): number {
  if (typeof details !== 'object' || details === null) return 0;
  return count((details as Fields)[name]) ?? 0;
}
