import { toTokens } from './tokens.ts';

/** Tokens of one provider call, in OpenAI's counting: cached and cache writes are part of input, reasoning of output. */
export interface Usage {
  inputTokens: number;
  /** Read from the provider's cache. */
  cachedInputTokens: number;
  /** Written to the provider's cache; 0 where a provider does not report it. */
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Counted by the gateway, since the provider reported no usage. */
  estimated: boolean;
  /** Calls of the provider's own tools with a price by the call, by tool; present only where there are some. */
  toolCalls?: ToolCalls;
  /** The same tokens by class; present only where the provider reported a class beyond the totals. */
  parts?: UsageParts;
  /** The samplings within the call, each with a price by its own input; present only where there are several. */
  samplings?: readonly Usage[];
  /** The region with a price of its own, by the provider's name; absent without one. */
  region?: string;
}

/** Tools of providers with a price for each call. */
export const billedTools = [
  'web_search',
  'file_search',
  'code_interpreter',
  'image_generation',
  'advisor',
] as const;
export type BilledTool = (typeof billedTools)[number];
export type ToolCalls = Partial<Record<BilledTool, number>>;

/** Adds calls of tools to what a provider reported, which may be nothing. */
export function withToolCalls(usage: Usage | null, toolCalls: ToolCalls): Usage | null {
  return Object.keys(toolCalls).length === 0 ? usage : { ...(usage ?? noUsage), toolCalls };
}

/** Classes of tokens, each with a price of its own. No class contains another. */
export const inputClasses = [
  /** Text neither read from the cache nor written to it. */
  'input',
  'cachedInput',
  /** Written to the cache for the provider's usual time: 5 minutes at Anthropic, 30 at OpenAI. */
  'cacheWrite',
  'cacheWrite1h',
  'inputAudio',
  'cachedInputAudio',
  'inputImage',
  'cachedInputImage',
  'inputVideo',
  'cachedInputVideo',
] as const;
export const outputClasses = [
  /** Text without reasoning. */
  'output',
  'reasoning',
  'outputAudio',
  'outputImage',
  'outputVideo',
] as const;
export type TokenClass = (typeof inputClasses)[number] | (typeof outputClasses)[number];
export type UsageParts = Record<TokenClass, number>;

export const noUsage: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  estimated: false,
};

/** Tokens other than text. */
export type Media = Record<'audio' | 'image' | 'video', number>;

/** A provider's totals: `input` and `output` contain all the others. */
export interface UsageReport {
  input: number;
  cached: number;
  /** All cache writes, those for an hour included. */
  cacheWrite: number;
  cacheWrite1h: number;
  inputMedia: Media;
  /** The cached tokens other than text, where the provider counts them. */
  cachedMedia: Media;
  output: number;
  reasoning: number;
  outputMedia: Media;
}

/**
 * Splits a report into classes with the sum of `input` and `output`; contradictory figures are cut. If a provider does
 * not say which of the cached tokens are text, as many as possible are: audio is rarely cached, and the price of
 * uncached tokens is the higher one.
 */
export function toUsage(report: UsageReport): Usage {
  const parts = { ...inputParts(report), ...outputParts(report) };
  const usage: Usage = {
    inputTokens: report.input,
    cachedInputTokens:
      parts.cachedInput + parts.cachedInputAudio + parts.cachedInputImage + parts.cachedInputVideo,
    cacheWriteTokens: parts.cacheWrite + parts.cacheWrite1h,
    outputTokens: report.output,
    reasoningTokens: parts.reasoning,
    estimated: false,
  };
  // All parts are in the totals, so without a further class they are those of `partsOf`.
  return furtherClasses.every((name) => parts[name] === 0) ? usage : { ...usage, parts };
}

/** The classes of a usage; their sum is input and output. */
export function partsOf(usage: Usage): UsageParts {
  return (
    usage.parts ?? {
      ...noParts,
      input: usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens,
      cachedInput: usage.cachedInputTokens,
      cacheWrite: usage.cacheWriteTokens,
      output: usage.outputTokens - usage.reasoningTokens,
      reasoning: usage.reasoningTokens,
    }
  );
}

/** Those of the input come first. */
export const tokenClasses = [...inputClasses, ...outputClasses];
const noParts = Object.fromEntries(tokenClasses.map((name) => [name, 0])) as UsageParts;
/** Classes with totals of their own. */
const totalled: ReadonlySet<TokenClass> = new Set([
  ...(['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning'] as const),
]);
const furtherClasses = tokenClasses.filter((name) => !totalled.has(name));

/** Tokens of a usage other than text. Those of the input include the cached ones. */
export function mediaOf(usage: Usage): Record<'input' | 'cached' | 'output', Media> {
  const parts = partsOf(usage);
  const { cachedInputAudio: audio, cachedInputImage: image, cachedInputVideo: video } = parts;
  return {
    input: {
      audio: parts.inputAudio + audio,
      image: parts.inputImage + image,
      video: parts.inputVideo + video,
    },
    cached: { audio, image, video },
    output: { audio: parts.outputAudio, image: parts.outputImage, video: parts.outputVideo },
  };
}

/**
 * The usage of a stream after a further report. The newest figures count, but for zeros: some providers report input at
 * the beginning and output at the end, or zeros in a last chunk.
 */
export function laterUsage(before: Usage | null, now: Usage | null): Usage | null {
  if (before === null || now === null) return now ?? before;
  const input = now.inputTokens > 0 ? now : before;
  const output = now.outputTokens > 0 ? now : before;
  if (input === output) return input;
  const parts = { ...partsOf(input), ...pick(partsOf(output), outputClasses) };
  return {
    inputTokens: input.inputTokens,
    cachedInputTokens: input.cachedInputTokens,
    cacheWriteTokens: input.cacheWriteTokens,
    outputTokens: output.outputTokens,
    reasoningTokens: output.reasoningTokens,
    estimated: false,
    ...((input.parts ?? output.parts) && { parts }),
  };
}

function pick<Name extends TokenClass>(parts: UsageParts, names: readonly Name[]): Pick<UsageParts, Name> {
  return Object.fromEntries(names.map((name) => [name, parts[name]])) as Pick<UsageParts, Name>;
}

/** Adds the gateway's count of text, and its estimate of thoughts, where a provider reported nothing. */
export function withCounted(
  usage: Usage,
  { input, output: text, reasoning = 0 }: { input: number; output: number; reasoning?: number },
): Usage {
  const { samplings: _samplings, ...counted } = usage;
  const { parts } = counted;
  const output = text + reasoning;
  return {
    ...counted,
    inputTokens: toTokens(usage.inputTokens + input),
    outputTokens: toTokens(usage.outputTokens + output),
    reasoningTokens: toTokens(usage.reasoningTokens + reasoning),
    estimated: true,
    ...(parts && {
      parts: {
        ...parts,
        input: toTokens(parts.input + input),
        output: toTokens(parts.output + text),
        reasoning: toTokens(parts.reasoning + reasoning),
      },
    }),
  };
}

/** The usage of a run: the sum of its provider calls. Each call is priced by itself, so the sum has no classes. */
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

type InputParts = Pick<UsageParts, (typeof inputClasses)[number]>;
type OutputParts = Pick<UsageParts, (typeof outputClasses)[number]>;

/** The order in which cached tokens without a stated kind are found. */
const kinds = ['text', 'image', 'video', 'audio'] as const;

function inputParts(report: UsageReport): InputParts {
  const left = withText(report.input, report.inputMedia);
  const cached = { text: 0, audio: 0, image: 0, video: 0 };
  let unassigned = Math.min(report.cached, report.input);
  const assign = (kind: keyof typeof left, most: number): void => {
    const tokens = Math.min(most, left[kind], unassigned);
    left[kind] -= tokens;
    cached[kind] += tokens;
    unassigned -= tokens;
  };
  for (const kind of ['audio', 'image', 'video'] as const) assign(kind, report.cachedMedia[kind]);
  for (const kind of kinds) assign(kind, Infinity);

  // No provider prices cache writes of audio, so audio keeps its own price.
  let written = 0;
  for (const kind of ['text', 'image', 'video'] as const) {
    const tokens = Math.min(report.cacheWrite - written, left[kind]);
    left[kind] -= tokens;
    written += tokens;
  }
  const cacheWrite1h = Math.min(report.cacheWrite1h, written);
  return {
    input: left.text,
    cachedInput: cached.text,
    cacheWrite: written - cacheWrite1h,
    cacheWrite1h,
    inputAudio: left.audio,
    cachedInputAudio: cached.audio,
    inputImage: left.image,
    cachedInputImage: cached.image,
    inputVideo: left.video,
    cachedInputVideo: cached.video,
  };
}

function outputParts(report: UsageReport): OutputParts {
  const reasoning = Math.min(report.reasoning, report.output);
  const { text, audio, image, video } = withText(report.output - reasoning, report.outputMedia);
  return { output: text, reasoning, outputAudio: audio, outputImage: image, outputVideo: video };
}

/** The rest of a total is text. */
function withText(total: number, media: Media): Media & { text: number } {
  const audio = Math.min(media.audio, total);
  const image = Math.min(media.image, total - audio);
  const video = Math.min(media.video, total - audio - image);
  return { audio, image, video, text: total - audio - image - video };
}
