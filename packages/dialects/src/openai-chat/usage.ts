import type { Fields } from '@gatehouse/kit/fields';
import { mediaOf, partsOf, type Media, type Usage } from '../usage/usage.ts';

/**
 * Usage as OpenAI writes it, with all classes of tokens: those without a name of OpenAI's under the names known to the
 * reader.
 */
export function writeUsage(usage: Usage): Fields {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  const media = mediaOf(usage);
  const cached = mediaTokens(media.cached);
  const hourly = partsOf(usage).cacheWrite1h;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedInputTokens,
      ...(cacheWriteTokens > 0 && { cache_write_tokens: cacheWriteTokens }),
      ...mediaTokens(media.input),
      ...(Object.keys(cached).length > 0 && { cached_tokens_details: cached }),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      ...mediaTokens(media.output),
    },
    ...(hourly > 0 && {
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWriteTokens - hourly,
        ephemeral_1h_input_tokens: hourly,
      },
    }),
  };
}

function mediaTokens(tokens: Media): Fields {
  const counted = Object.entries(tokens).filter(([, count]) => count > 0);
  return Object.fromEntries(counted.map(([name, count]) => [`${name}_tokens`, count]));
}
