/** A request, as every API can say it. Each API has a reader to make it and a writer to write it. */
export interface Conversation {
  turns: Turn[];
  tools: Tool[];
  choice: ToolChoice | null;
  /** Whether an answer may have several calls; null where the client does not say. */
  parallel: boolean | null;
  maxTokens: number | null;
  stop: readonly string[];
  sampling: Sampling;
  output: OutputFormat | null;
  reasoning: Reasoning | null;
  stream: boolean;
}

/** System texts are turns at their positions. Results of calls are parts of the user's turns. */
export interface Turn {
  role: 'system' | 'user' | 'assistant';
  parts: Part[];
}

export type Part =
  | TextPart
  | MediaPart
  | CallPart
  | ResultPart
  | ThinkingPart
  /** The model's words where it refuses. */
  | { kind: 'refusal'; text: string };

/** A part or a tool up to which the provider is asked to cache the prompt. */
export interface CachePoint {
  /** For how long; absent where it is not asked to. */
  cacheTtl?: '5m' | '1h';
}

export interface TextPart extends CachePoint {
  kind: 'text';
  text: string;
}

export interface MediaPart extends CachePoint {
  kind: 'image' | 'file' | 'audio';
  source: MediaSource;
  /** The name of a file. */
  name: string | null;
  /** Its place in the client's request, for errors. */
  at: string;
  /** Whether it stands in a turn of the model, or before one: it is no reason to refuse the request. */
  isHistory?: boolean;
}

/** An address, with its media type where the client names it, or base64. */
export type MediaSource =
  | { url: string; mediaType?: string }
  /** `charset`: of a text in another charset than UTF-8. */
  | { data: string; mediaType: string; charset?: string };

export interface CallPart extends CachePoint {
  kind: 'call';
  id: string;
  name: string;
  /** JSON text of the function's arguments as the model wrote it, or the input of a freeform tool. */
  argumentsText: string;
  isFreeform: boolean;
  /** The group of the called tool. */
  namespace: string | null;
}

export interface ResultPart extends CachePoint {
  kind: 'result';
  callId: string;
  parts: (TextPart | MediaPart)[];
  isError: boolean;
}

export interface ThinkingPart {
  kind: 'thinking';
  text: string;
  signature: ReasoningSignature | null;
  /** Whether its text came with its signature, in place of the pieces before it. */
  isWhole?: true;
}

/** A signature of a thought, or the thought itself in encrypted form. It goes back to its origin or nowhere. */
export interface ReasoningSignature {
  /** `anthropic`, `google`, `openai`, or `chat=` and a model: servers with chat completions have no signatures. */
  origin: string;
  text: string;
  /** Whether `text` is the thought itself. */
  isRedacted: boolean;
  /** The hash in its mark, by the tenant's key; null in a mark of version 0.3.0. Absent where there is no mark. */
  mac?: string | null;
}

export interface Tool extends CachePoint {
  name: string;
  namespace: string | null;
  description: string | null;
  /** JSON text; null for a freeform tool, and for a function without parameters. */
  schemaJson: string | null;
  isFreeform: boolean;
  isStrict: boolean | null;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string; namespace: string | null };

export interface Sampling {
  temperature: number | null;
  topP: number | null;
  topK: number | null;
  seed: number | null;
  presencePenalty: number | null;
  frequencyPenalty: number | null;
}

export type OutputFormat =
  /** Any JSON object. */
  { kind: 'json' } | { kind: 'schema'; name: string | null; schemaJson: string; isStrict: boolean | null };

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof efforts)[number];

export interface Reasoning {
  /** False where the client switches it off. */
  isOn: boolean;
  effort: Effort | null;
  /** Tokens. */
  budget: number | null;
}

export const noSampling: Sampling = {
  ...{ temperature: null, topP: null, topK: null, seed: null },
  ...{ presencePenalty: null, frequencyPenalty: null },
};
