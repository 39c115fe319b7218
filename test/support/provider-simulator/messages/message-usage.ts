import type { UsageOverride } from '../faults.ts';
import type { InputCharge } from './prompt-cache.ts';

/** The usage object of Anthropic's Messages API. */
export interface MessageUsage {
  /** Without tokens that were read from the cache or written to it. */
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
  /** With thinking. */
  output_tokens: number;
  output_tokens_details: { thinking_tokens: number };
  server_tool_use: null;
  service_tier: 'standard';
  inference_geo: 'not_available';
  speed: 'standard';
}

/** The usage of a message in the fields of chat completions, so that records of all APIs add up. */
export interface ChargedMessage {
  /** All input, with `cached_tokens` and `cache_write_tokens`. */
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens: number; cache_write_1h_tokens: number };
  completion_tokens_details: { reasoning_tokens: number };
}

/** The usage of an answer; an override of `prompt_tokens` is all input, and replaces cache figures too. */
export function messageUsage(
  charge: InputCharge,
  output: { tokens: number; thinking: number },
  override: UsageOverride = {},
): MessageUsage {
  const { uncached, read, written5m, written1h } = overridden(charge, override);
  return {
    input_tokens: uncached,
    cache_creation_input_tokens: written5m + written1h,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
    output_tokens: override.completion_tokens ?? output.tokens,
    output_tokens_details: { thinking_tokens: override.reasoning_tokens ?? output.thinking },
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: 'not_available',
    speed: 'standard',
  };
}

function overridden(charge: InputCharge, override: UsageOverride): InputCharge {
  const { prompt_tokens: prompt, cached_tokens: cached, cache_write_tokens: written } = override;
  if (prompt === undefined && cached === undefined && written === undefined) return charge;
  const all = prompt ?? charge.uncached + charge.read + charge.written5m + charge.written1h;
  const read = cached ?? 0;
  const written5m = written ?? 0;
  return { uncached: Math.max(0, all - read - written5m), read, written5m, written1h: 0 };
}

export function charged(usage: MessageUsage): ChargedMessage {
  const read = usage.cache_read_input_tokens;
  const written = usage.cache_creation_input_tokens;
  const prompt = usage.input_tokens + read + written;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output_tokens,
    total_tokens: prompt + usage.output_tokens,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      cache_write_1h_tokens: usage.cache_creation.ephemeral_1h_input_tokens,
    },
    completion_tokens_details: { reasoning_tokens: usage.output_tokens_details.thinking_tokens },
  };
}
