import { listOf } from '@gatehouse/kit/fields';
import { isTokens } from './tokens.ts';
import { toUsage, withToolCalls, type Media, type ToolCalls, type Usage, type UsageReport } from './usage.ts';
import { billedIterations } from './reported-usage.ts';
import { maxUsageEntries } from '../bounds.ts';

type Fields = Record<string, unknown>;

/**
 * Reads a provider's usage object, recognised by its fields; null when it is missing or has nothing to count.
 * Contradictory figures are cut so the sum stays as reported. Missing input or output is 0.
 */
export function readUsage(value: unknown): Usage | null {
  const fields = objectOf(value);
  if (fields === null) return null;
  return (
    readChatUsage(fields) ??
    readInputOutputUsage(fields) ??
    readGoogleUsage(fields) ??
    readBedrockUsage(fields)
  );
}

/** The usage in an answer or a chunk: Groq has it in `x_groq`, Moonshot in a choice. */
export function usageIn(answer: Fields): Usage | null {
  return (
    readUsage(answer['usage']) ??
    readUsage(objectOf(answer['x_groq'])?.['usage']) ??
    usageInChoice(answer['choices']) ??
    readUsage(answer['usageMetadata'])
  );
}

function usageInChoice(choices: unknown): Usage | null {
  for (const choice of listOf(choices).slice(0, maxUsageEntries)) {
    const usage = readUsage(objectOf(choice)?.['usage']);
    if (usage !== null) return usage;
  }
  return null;
}

/**
 * The service tier of a call: OpenAI puts it beside `usage`, Anthropic into it. A call that Anthropic served in fast mode
 * has the price of `priority` (https://platform.claude.com/docs/en/build-with-claude/fast-mode).
 */
export function readServiceTier(answer: Fields): string | null {
  const usage = objectOf(answer['usage']);
  if (usage?.['speed'] === 'fast') return 'priority';
  return tierIn(answer) ?? tierIn(usage);
}

function tierIn(holder: Fields | null): string | null {
  const tier = holder?.['service_tier'];
  // Longer than any name of a tier, so no cut name is taken for another.
  return typeof tier === 'string' && tier !== '' ? tier.slice(0, 64) : null;
}

/** OpenAI's chat completions and embeddings, and what imitates them. */
function readChatUsage(fields: Fields): Usage | null {
  return readInclusive(fields, {
    input: count(fields['prompt_tokens']),
    output: count(fields['completion_tokens']),
    inputDetails: objectOf(fields['prompt_tokens_details']),
    outputDetails: objectOf(fields['completion_tokens_details']),
  });
}

/** `input_tokens` is OpenAI's name in its Responses API and Anthropic's in its Messages API. */
function readInputOutputUsage(fields: Fields): Usage | null {
  const inputDetails = objectOf(fields['input_tokens_details'] ?? fields['input_token_details']);
  if (inputDetails === null && excludesCached(fields))
    return withToolCalls(readAnthropicUsage(fields), anthropicTools(fields));
  return readInclusive(fields, {
    input: count(fields['input_tokens']),
    output: count(fields['output_tokens']),
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
 * reasoning comes on top, as xAI reports it and as Google's OpenAI-compatible address leaves out. If one of both is
 * missing, it is the rest of the total.
 */
function readInclusive(
  fields: Fields,
  reported: {
    input: number | null;
    output: number | null;
    inputDetails: Fields | null;
    outputDetails: Fields | null;
  },
): Usage | null {
  const { inputDetails, outputDetails } = reported;
  if (reported.input === null && reported.output === null) return null;
  const total = count(fields['total_tokens']) ?? 0;
  const isOnlyTotal = reported.output === null && reported.input === 0;
  const input = isOnlyTotal ? total : (reported.input ?? Math.max(0, total - (reported.output ?? 0)));
  const output = reported.output ?? Math.max(0, total - input);
  const reasoning = detail(outputDetails, 'reasoning_tokens');
  const onTop = input > 0 ? Math.max(0, total - input - output) : 0;
  return toUsage({
    input,
    cached: firstOf([inputDetails, 'cached_tokens'], ...cachedIn.map((name) => [fields, name] as const)),
    cacheWrite:
      firstOf([inputDetails, 'cache_write_tokens'], [inputDetails, 'cache_creation_input_tokens']) ||
      cacheCreation(fields),
    cacheWrite1h: cacheCreation1h(fields),
    inputMedia: mediaOf(inputDetails),
    cachedMedia: mediaOf(objectOf(inputDetails?.['cached_tokens_details'])),
    output: output + onTop,
    reasoning: onTop === reasoning ? reasoning : reasoning + onTop,
    outputMedia: mediaOf(outputDetails),
  });
}

/**
 * Cached tokens beside the totals: proxies in front of Anthropic keep its name beside OpenAI's, DeepSeek and Moonshot have
 * names of their own.
 */
const cachedIn = ['cache_read_input_tokens', 'prompt_cache_hit_tokens', 'cached_tokens'];

/** The first figure above 0. */
function firstOf(...places: readonly (readonly [Fields | null, string])[]): number {
  return places.map(([fields, name]) => detail(fields, name)).find((tokens) => tokens > 0) ?? 0;
}

/**
 * Zeros alone are no report: clients need the fields, also where the provider counts nothing. Compactions of the request
 * are billed beside the totals, and so is the region
 * (https://platform.claude.com/docs/en/build-with-claude/compaction, …/build-with-claude/data-residency).
 */
function readAnthropicUsage(fields: Fields): Usage | null {
  const reports = [fields, ...iterationsOf(fields, 'compaction')].map(anthropicReport);
  const sum = sumOfReports(reports);
  if (sum.input + sum.output === 0) return null;
  const region = regionIn(fields);
  return {
    ...toUsage(sum),
    ...(reports.length > 1 && { samplings: reports.map(toUsage) }),
    ...(region !== null && { region }),
  };
}

/** `input_tokens` has neither what was read from the cache nor what was written to it. */
function anthropicReport(fields: Fields): UsageReport {
  const cached = detail(fields, 'cache_read_input_tokens');
  const cacheWrite = cacheCreation(fields);
  const details = objectOf(fields['output_tokens_details']);
  return {
    input: detail(fields, 'input_tokens') + cached + cacheWrite,
    cached,
    cacheWrite,
    cacheWrite1h: cacheCreation1h(fields),
    inputMedia: noMedia,
    cachedMedia: noMedia,
    output: detail(fields, 'output_tokens'),
    reasoning: detail(details, 'thinking_tokens') || detail(details, 'reasoning_tokens'),
    outputMedia: noMedia,
  };
}

const summed = ['input', 'cached', 'cacheWrite', 'cacheWrite1h', 'output', 'reasoning'] as const;

function sumOfReports(reports: readonly UsageReport[]): UsageReport {
  const sum = anthropicReport({});
  for (const report of reports) for (const name of summed) sum[name] += report[name];
  return sum;
}

/** The billed samplings of a type within one call. */
function iterationsOf({ iterations }: Fields, type: string): Fields[] {
  return billedIterations(iterations).filter((entry) => entry['type'] === type);
}

/** Names by which Anthropic reports a call without a surcharge for its region. */
const anywhere: ReadonlySet<unknown> = new Set(['global', 'not_available', '']);

function regionIn({ inference_geo: region }: Fields): string | null {
  return typeof region === 'string' && !anywhere.has(region) ? region.slice(0, 64) : null;
}

/**
 * Tools billed by Anthropic by their tokens alone are not among them. An advisor is another model, billed at its own rates
 * beside the totals.
 */
function anthropicTools(fields: Fields): ToolCalls {
  const used = fields['server_tool_use'];
  const advice = iterationsOf(fields, 'advisor_message').length;
  const searches = detail(objectOf(used), 'web_search_requests');
  const executions = detail(objectOf(used), 'code_execution_requests');
  return {
    ...(searches > 0 && { web_search: searches }),
    ...(executions > 0 && { code_interpreter: executions }),
    ...(advice > 0 && { advisor: advice }),
  };
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
  if (count(fields['promptTokenCount']) === null && count(fields['candidatesTokenCount']) === null)
    return null;
  const prompt = detail(fields, 'promptTokenCount');
  const reasoning = count(fields['thoughtsTokenCount']) ?? 0;
  return toUsage({
    input: prompt + (count(fields['toolUsePromptTokenCount']) ?? 0),
    cached: Math.min(prompt, count(fields['cachedContentTokenCount']) ?? 0),
    // Google has no names for cache writes: these come from a translated answer.
    cacheWrite: detail(fields, 'cacheWriteTokenCount'),
    cacheWrite1h: detail(fields, 'cacheWrite1hTokenCount'),
    inputMedia: modalitiesOf(fields['promptTokensDetails'], fields['toolUsePromptTokensDetails']),
    cachedMedia: modalitiesOf(fields['cacheTokensDetails']),
    output: (count(fields['candidatesTokenCount']) ?? 0) + reasoning,
    reasoning,
    outputMedia: modalitiesOf(fields['candidatesTokensDetails']),
  });
}

/** Bedrock's Converse: like Anthropic, cached tokens come on top of `inputTokens`. */
function readBedrockUsage(fields: Fields): Usage | null {
  return readAnthropicUsage({
    input_tokens: fields['inputTokens'],
    output_tokens: fields['outputTokens'],
    cache_read_input_tokens: fields['cacheReadInputTokens'],
    cache_creation_input_tokens: fields['cacheWriteInputTokens'],
    cache_creation: { ephemeral_1h_input_tokens: hourlyWrites(fields['cacheDetails']) },
  });
}

/** Cache writes for an hour, in a list by time. */
function hourlyWrites(details: unknown): number {
  if (!Array.isArray(details)) return 0;
  const [hourly] = details
    .slice(0, maxUsageEntries)
    .map(objectOf)
    .filter((entry) => entry?.['ttl'] === '1h');
  return detail(hourly ?? null, 'inputTokens');
}

const noMedia: Media = { audio: 0, image: 0, video: 0 };

/** OpenAI's details of tokens; those of text have no price of their own. */
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

function modalitiesOf(...lists: readonly unknown[]): Media {
  const media = { ...noMedia };
  for (const list of lists) {
    if (!Array.isArray(list)) continue;
    for (const entry of list.slice(0, maxUsageEntries)) {
      const fields = objectOf(entry);
      const kind = modalities.get(fields?.['modality']);
      if (kind !== undefined) media[kind] += detail(fields, 'tokenCount');
    }
  }
  return media;
}

function count(value: unknown): number | null {
  return isTokens(value) ? value : null;
}

function detail(details: Fields | null, name: string): number {
  return count(details?.[name]) ?? 0;
}

function objectOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null ? (value as Fields) : null;
}
