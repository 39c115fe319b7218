import { toUsage, type Media, type Usage } from './usage.ts';

type Fields = Record<string, unknown>;

/**
 * Reads a provider's usage object, recognised by its fields; null when it is missing or has nothing that can be counted.
 * Figures that contradict each other are cut so that the sum stays what was reported.
 */
export function readUsage(value: unknown): Usage | null {
  const fields = objectOf(value);
  if (fields === null) return null;
  return readChatUsage(fields) ?? readInputOutputUsage(fields) ?? readGoogleUsage(fields);
}

/** The service tier that a call was served in: OpenAI puts it beside `usage`, Anthropic into it. */
export function readServiceTier(answer: Fields): string | null {
  for (const holder of [answer, objectOf(answer['usage'])]) {
    const tier = holder?.['service_tier'];
    // Longer than any name of a tier, so that none is taken for another.
    if (typeof tier === 'string' && tier !== '') return tier.slice(0, 64);
  }
  return null;
}

/** OpenAI's chat completions and embeddings, and what imitates them. */
function readChatUsage(fields: Fields): Usage | null {
  return readInclusive(fields, {
    input: count(fields['prompt_tokens']),
    output: count(fields['completion_tokens']) ?? 0,
    inputDetails: objectOf(fields['prompt_tokens_details']),
    outputDetails: objectOf(fields['completion_tokens_details']),
  });
}

/** `input_tokens` is OpenAI's name in its Responses API and Anthropic's in its Messages API. */
function readInputOutputUsage(fields: Fields): Usage | null {
  const inputDetails = objectOf(fields['input_tokens_details'] ?? fields['input_token_details']);
  if (inputDetails === null && excludesCached(fields)) return readAnthropicUsage(fields);
  return readInclusive(fields, {
    input: count(fields['input_tokens']),
    output: detail(fields, 'output_tokens'),
    inputDetails,
    outputDetails: objectOf(fields['output_tokens_details'] ?? fields['output_token_details']),
  });
}

/**
 * Whether cached tokens come on top of `input_tokens`, as at Anthropic, which has neither details of its input nor a
 * total. A proxy may add a total, which then shows what `input_tokens` is.
 */
function excludesCached(fields: Fields): boolean {
  const total = count(fields['total_tokens']);
  if (total === null) return true;
  const input = detail(fields, 'input_tokens');
  const cached = detail(fields, 'cache_read_input_tokens') + cacheCreation(fields);
  return cached > 0 && (cached > input || total !== input + detail(fields, 'output_tokens'));
}

/**
 * Input includes cached tokens and output includes reasoning, except where `total_tokens` shows more than both: then
 * reasoning comes on top, as xAI reports it and as Google's OpenAI-compatible address leaves out.
 */
function readInclusive(
  fields: Fields,
  reported: {
    input: number | null;
    output: number;
    inputDetails: Fields | null;
    outputDetails: Fields | null;
  },
): Usage | null {
  const { input, output, inputDetails, outputDetails } = reported;
  if (input === null) return null;
  const reasoning = detail(outputDetails, 'reasoning_tokens');
  const onTop = Math.max(0, (count(fields['total_tokens']) ?? 0) - input - output);
  return toUsage({
    input,
    // Proxies in front of Anthropic keep its names beside OpenAI's.
    cached: detail(inputDetails, 'cached_tokens') || detail(fields, 'cache_read_input_tokens'),
    cacheWrite: detail(inputDetails, 'cache_write_tokens') || cacheCreation(fields),
    cacheWrite1h: cacheCreation1h(fields),
    inputMedia: mediaOf(inputDetails),
    cachedMedia: mediaOf(objectOf(inputDetails?.['cached_tokens_details'])),
    output: output + onTop,
    reasoning: onTop === reasoning ? reasoning : reasoning + onTop,
    outputMedia: mediaOf(outputDetails),
  });
}

/** `input_tokens` has neither what was read from the cache nor what was written to it. */
function readAnthropicUsage(fields: Fields): Usage | null {
  const uncached = count(fields['input_tokens']);
  if (uncached === null) return null;
  const cached = detail(fields, 'cache_read_input_tokens');
  const cacheWrite = cacheCreation(fields);
  const details = objectOf(fields['output_tokens_details']);
  return toUsage({
    input: uncached + cached + cacheWrite,
    cached,
    cacheWrite,
    cacheWrite1h: cacheCreation1h(fields),
    inputMedia: noMedia,
    cachedMedia: noMedia,
    output: detail(fields, 'output_tokens'),
    reasoning: detail(details, 'thinking_tokens') || detail(details, 'reasoning_tokens'),
    outputMedia: noMedia,
  });
}

/** Anthropic's cache writes in all; where only the split by time is there, its sum. */
function cacheCreation(fields: Fields): number {
  const split = objectOf(fields['cache_creation']);
  return (
    count(fields['cache_creation_input_tokens']) ??
    detail(split, 'ephemeral_5m_input_tokens') + detail(split, 'ephemeral_1h_input_tokens')
  );
}

function cacheCreation1h(fields: Fields): number {
  return detail(objectOf(fields['cache_creation']), 'ephemeral_1h_input_tokens');
}

/** `promptTokenCount` includes cached ones; thoughts and the prompts of tools are counted apart. */
function readGoogleUsage(fields: Fields): Usage | null {
  const prompt = count(fields['promptTokenCount']);
  if (prompt === null) return null;
  const reasoning = count(fields['thoughtsTokenCount']) ?? 0;
  return toUsage({
    input: prompt + (count(fields['toolUsePromptTokenCount']) ?? 0),
    cached: Math.min(prompt, count(fields['cachedContentTokenCount']) ?? 0),
    cacheWrite: 0,
    cacheWrite1h: 0,
    inputMedia: modalitiesOf(fields['promptTokensDetails'], fields['toolUsePromptTokensDetails']),
    cachedMedia: modalitiesOf(fields['cacheTokensDetails']),
    output: (count(fields['candidatesTokenCount']) ?? 0) + reasoning,
    reasoning,
    outputMedia: modalitiesOf(fields['candidatesTokensDetails']),
  });
}

const noMedia: Media = { audio: 0, image: 0, video: 0 };

/** OpenAI's details of tokens; those that are text have no price of their own. */
function mediaOf(details: Fields | null): Media {
  return {
    audio: detail(details, 'audio_tokens'),
    image: detail(details, 'image_tokens'),
    video: detail(details, 'video_tokens'),
  };
}

/** Google's `ModalityTokenCount`s. Pages of documents are billed as images. */
const modalities: ReadonlyMap<unknown, keyof Media> = new Map([
  ['AUDIO', 'audio'],
  ['IMAGE', 'image'],
  ['DOCUMENT', 'image'],
  ['VIDEO', 'video'],
]);

/** More than there are modalities. */
const mostModalities = 32;

function modalitiesOf(...lists: readonly unknown[]): Media {
  const media = { ...noMedia };
  for (const list of lists) {
    if (!Array.isArray(list)) continue;
    for (const entry of list.slice(0, mostModalities)) {
      const fields = objectOf(entry);
      const kind = modalities.get(fields?.['modality']);
      if (kind !== undefined) media[kind] += detail(fields, 'tokenCount');
    }
  }
  return media;
}

/** More than any call can come to: a broken figure must not overflow the sums and prices that it enters. */
const mostTokens = 1e12;

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= mostTokens
    ? value
    : null;
}

function detail(details: Fields | null, name: string): number {
  return count(details?.[name]) ?? 0;
}

function objectOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null ? (value as Fields) : null;
}
