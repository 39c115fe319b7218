import type { Fields } from '@gatehouse/kit/fields';
import { partsOf, type Usage } from '../usage/usage.ts';
import { writeUsage as writeChatUsage } from '../openai-chat/usage.ts';

/**
 * Usage as Anthropic writes it. It has no name for tokens that are no text: where there are some, OpenAI's names stand
 * beside its own, which the reader looks at first. Without a report all is zero, which counts as none.
 */
export function writeUsage(usage: Usage | null): Fields {
  if (usage === null) return { input_tokens: 0, output_tokens: 0 };
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  const parts = partsOf(usage);
  const hourly = parts.cacheWrite1h;
  const hasMedia = Object.entries(parts).some(([name, count]) => count > 0 && /Audio|Image|Video/.test(name));
  return {
    input_tokens: inputTokens - cachedInputTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedInputTokens,
    ...(hourly > 0 && {
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWriteTokens - hourly,
        ephemeral_1h_input_tokens: hourly,
      },
    }),
    output_tokens: outputTokens,
    ...(reasoningTokens > 0 && { output_tokens_details: { thinking_tokens: reasoningTokens } }),
    ...(hasMedia && writeChatUsage(usage)),
  };
}
