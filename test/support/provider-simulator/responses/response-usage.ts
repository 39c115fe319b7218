import type { UsageOverride } from '../faults.ts';

/** The usage object of the Responses API. */
export interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
  /** With reasoning. */
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

/** The usage of a response in the fields of chat completions, so that records of all APIs add up. */
export interface ChargedResponse {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: ResponseUsage['input_tokens_details'];
  completion_tokens_details: ResponseUsage['output_tokens_details'];
}

export function responseUsage(
  counted: { input: number; output: number; reasoning: number },
  override: UsageOverride = {},
): ResponseUsage {
  const input = override.prompt_tokens ?? counted.input;
  const output = override.completion_tokens ?? counted.output;
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: override.cached_tokens ?? 0,
      cache_write_tokens: override.cache_write_tokens ?? 0,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: override.reasoning_tokens ?? counted.reasoning },
    total_tokens: input + output,
  };
}

export function charged(usage: ResponseUsage): ChargedResponse {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: usage.input_tokens_details,
    completion_tokens_details: usage.output_tokens_details,
  };
}
