/** Tokens of one provider call, in OpenAI's counting: cached are part of input, reasoning are part of output. */
export interface Usage {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Counted by us because the provider did not say. */
  estimated: boolean;
}

export const noUsage: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  estimated: false,
};

/** Reads a provider's `usage` object, or null when it is missing or says nothing that can be counted. */
export function readUsage(value: unknown): Usage | null {
  if (typeof value !== 'object' || value === null) return null;
  const usage = value as Record<string, unknown>;
  const input = count(usage['prompt_tokens']);
  if (input === null) return null;
  return {
    inputTokens: input,
    cachedInputTokens: detail(usage['prompt_tokens_details'], 'cached_tokens'),
    outputTokens: count(usage['completion_tokens']) ?? 0,
    reasoningTokens: detail(usage['completion_tokens_details'], 'reasoning_tokens'),
    estimated: false,
  };
}

/** The usage of a run: the sum of its provider calls. */
export function sumUsage(parts: readonly Usage[]): Usage {
  return parts.reduce(
    (sum, part) => ({
      inputTokens: sum.inputTokens + part.inputTokens,
      cachedInputTokens: sum.cachedInputTokens + part.cachedInputTokens,
      outputTokens: sum.outputTokens + part.outputTokens,
      reasoningTokens: sum.reasoningTokens + part.reasoningTokens,
      estimated: sum.estimated || part.estimated,
    }),
    noUsage,
  );
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function detail(details: unknown, name: string): number {
  if (typeof details !== 'object' || details === null) return 0;
  return count((details as Record<string, unknown>)[name]) ?? 0;
}
