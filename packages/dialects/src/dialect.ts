import type { DialectName, StreamPlace } from '@gatehouse/contract/dialects';
import type { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import type { ToolRewrite } from './request-additions.ts';
import type { Compaction, RequestState, StateFormat } from './state-format.ts';
import type { SignatureFormat } from './signatures-in.ts';
import type { Thinking } from './request-fields.ts';
import type { ToolEvent } from './tool-event.ts';
import type { TextSample } from './usage/token-estimate.ts';
import type { PathCall, UpstreamApi } from './upstream-api.ts';
import type { FeeTool } from './usage/fee-tools.ts';
import type { BilledTool, TokenClass, Usage } from './usage/usage.ts';
import type { JsonSource } from './wire/json-text.ts';
import type { Pieces } from './wire/pieces.ts';
import type { Share } from './wire/request-text.ts';

/**
 * An API of clients and providers: its requests, responses, streams and errors. Callers get it from the registry
 * `dialects.ts` and use it by this interface. A new one is a folder beside `openai-chat/`, and its lines in the registries.
 */
export interface Dialect extends RequestFormat, AnswerFormat {
  readonly name: DialectName;
  /** Sent to the client of a stream while the provider is silent. */
  readonly keepAlive: Buffer;
  /** Counts of the tokens of requests; absent where the API has none. */
  readonly counts?: CountFormat;
  /** Tracks the position in a stream, for dialects whose error events continue its numbering. */
  follower?(): StreamFollower;
  readonly state?: StateFormat;
  /** The reasoning signatures in answers of its providers; null without one. */
  readonly signatures: SignatureFormat | null;
  /** Whether models reason although the request doesn't ask for it. */
  readonly reasonsUnasked: boolean;
  /** Reads a request whose path asks for a summary of its conversation. */
  readCompaction?(body: Buffer, parsed: unknown): CompletionRequest;
}

export interface StreamFollower {
  see(frames: readonly Buffer[]): void;
  /** The position behind these frames; null if it is not known. */
  readonly place: StreamPlace | null;
}

export type Operation = 'chat' | 'embeddings';

/** Requests, as clients write them and as providers of the same format read them. */
export interface RequestFormat {
  /** Headers of clients, in lower case, that providers of the same API get. */
  readonly passedHeaders: readonly string[];
  /**
   * Reads a request. `parsed` is its body as JSON; `inPath`: the part of it that stands in its path, in dialects that have
   * one there. Throws 400s that name the field.
   */
  readRequest(operation: Operation, body: Buffer, parsed: unknown, inPath?: RequestInPath): CompletionRequest;
  /** The path of a call, behind the base address that the vendor's own SDK takes. */
  pathOf(call: PathCall): string;
  /** Names of an agent's parameters that the API has no field for. They reach no provider. */
  unsupportedDefaults(defaults: Fields): string[];
  /** The definition of a tool as models get it: JSON text, to be joined with commas. */
  toolText(tool: ToolDefinition): string;
}

/** The part of a request that stands in its path, where a dialect has it there instead of in the body. */
export type RequestInPath = Pick<RequestHead, 'model' | 'stream' | 'isBatch'>;

export interface ToolDefinition {
  name: string;
  description: string;
  /** JSON text. */
  schemaJson: string;
}

/** The fields of a client's request that the gateway needs while it is under way. */
export interface RequestHead {
  operation: Operation;
  model: string;
  stream: boolean;
  /** Whether the client asked for the usage of a stream. */
  wantsUsage: boolean;
  /** How many answers it asked for. */
  choices: number;
  /** Whether a request for embeddings has a list of inputs, which some APIs have another path for. */
  isBatch?: boolean | undefined;
  /** How the request asks for a summary of its conversation; absent for other requests. */
  compaction?: Compaction | undefined;
  /** Seals a summary that the gateway lets a model write, for such a request. */
  sealSummary?: ((summary: string) => string) | undefined;
}

/** The parts of an agent that a provider repeats in its answer. */
export interface Additions {
  systemPrompt: string | null;
  /** Names of the gateway's own tools. */
  toolNames: ReadonlySet<string>;
  /** Stored-response ids; null if the request neither stores nor continues one. */
  kept: KeptNames | null;
}

/** How clients know kept answers. */
export interface KeptNames {
  /** The answer of this request; null if it is not kept. */
  id: string | null;
  /** The one that its request went on from. */
  previousId: string | null;
}

/** The answer of a provider as the client of a request gets it. */
export interface AnswerView {
  frame(frame: Buffer): Buffer;
  /** `by`: the model that the answer comes from. */
  whole(bytes: Buffer, tenantId: string, by: AnsweringModel): Promise<Buffer>;
}

export type AnsweringModel = Record<'upstreamModel', string> & Record<'api', UpstreamApi>;

/** A client's request as it is read, until it is accepted. */
export interface CompletionRequest extends RequestHead {
  /** Size of its text. */
  readonly bytes: number;
  /** The conversation that it belongs to, where the client says so; never a user. */
  readonly session: string | null;
  /** Absent where a dialect keeps no answers. */
  readonly state?: RequestState;
  /** Names of the tools that the client brings. */
  readonly toolNames: readonly unknown[];
  /** Ids of the calls of tools in its conversation, in their order. */
  readonly callIds: readonly string[];
  /** The texts up to and with the first message of the user, the last 64 at most; empty without such a message. */
  readonly firstTexts: readonly string[];
  /** The text of the newest user message or embedding input, at most `maxChars`, for previews. */
  inputPreview(maxChars: number): string;
  /** The newest message of the user: its index, and the text of its parts. Null if there is none with text. */
  lastUserText(): { index: number; text: string } | null;
  /**
   * A sample of the prompt for estimating its tokens, so that the request itself need not be kept. `added`: texts that
   * the gateway adds to the client's messages.
   */
  promptSample(added?: readonly (string | TextSample)[]): TextSample;
  /**
   * How many answers there will be. `defaults`: an agent's parameters. Members that the client names, if only with
   * null, replace those, here and below.
   */
  choicesWith(defaults: Fields): number;
  thinking(defaults: Fields): Thinking;
  /** The amounts that rate limits and budgets count. */
  requestedAmounts(defaults: Fields): RequestedAmounts;
  /** The error if the request cannot be translated for this model; null if it can. Omitted: it can for no model of another API. */
  refusalIn?(model: AnsweringModel): AppError | null;
  /** Shows what the client asked for, where a provider repeats more; null where the bytes stay. Holds no request. */
  readonly viewWith?: (added: Additions) => AnswerView | null;
  /** The same for an answer that is kept, with everything that a later request needs. */
  readonly keptView?: (added: Additions) => AnswerView;
  /** The text for provider calls. Throws a 400 for a request with too many members. */
  source(share: Share): RequestSource;
}

/** The amounts of tokens, choices and tools that a request may use. */
export interface RequestedAmounts {
  choices: number;
  /** Tokens of each answer at most; null without a limit. */
  maxTokens: number | null;
  serviceTier: string | null;
  /** Classes of tokens that the prompt or an answer is certain to have beside text. */
  classes: readonly TokenClass[];
  /** Pictures, sounds and files: their number, and the bytes of the request that are no text for this reason. */
  attachments: { count: number; bytes: number };
  /** Tools of the provider that have a fee for each call; absent for embeddings. */
  feeTools?: readonly FeeTool[];
}

/** The text of a request, for as long as another provider call may need it. */
export interface RequestSource {
  /** Bytes of the client's request; 0 once it is released. */
  readonly bytes: number;
  /** The body for a provider, in an API that has no refusal. Throws a 400 for one that it can't read, and once it is released. */
  rewritten(rewrite: Rewrite): Pieces;
  /** Names of the request's hints that the body for a model has no field for. */
  droppedFields?(model: AnsweringModel): readonly string[];
  /** Sets how many bytes of copies of the text are in memory for a provider call. */
  copied(bytes: number): void;
  /** Frees the text: the answer has begun, and no further provider call follows. */
  release(): void;
}

/** Changes of the gateway to a client's request before a provider gets it; everything else stays byte for byte. */
export interface Rewrite {
  /** The API that the provider is asked in; absent for the one of the client. */
  api?: UpstreamApi;
  /** The provider's name of the model. */
  model: string;
  /** Whether the request is translated next, which reads the marks of signatures that translation has made. */
  isTranslated?: boolean;
  /** Filters reasoning signatures; omitted: all unmarked ones pass. */
  keepsSignature?: (signature: unknown) => boolean;
  /** Whether the model reasons; absent where the catalogue does not know. */
  reasons?: boolean | undefined;
  /** Whether the provider counts the tokens of the request instead of answering it. */
  counts?: true;
  /** Ask for usage at the end of the stream, which the client may not have done. */
  includeUsage: boolean;
  /** Put before the client's messages. */
  systemPrompt: string | null;
  /** Put before the client's message with this index, as a message of the user. */
  reference: { index: number; content: string } | null;
  /** Added where the client gave no member of that name. */
  defaults: Fields;
  /** Lowers the limit of each answer; null leaves it. */
  maxTokens: TokenLimit | null;
  /** Changes that the gateway's own tools need; null without them. */
  tools: ToolRewrite | null;
  /** Tools that are left out, of those that the client offers with each request; absent for none. */
  withoutTools?: ReadonlySet<BilledTool> | undefined;
}

export interface TokenLimit {
  most: number;
  /** Address of the provider: servers differ in the name of the limit. */
  baseUrl: string;
}

/** Answers, as providers write them. */
export interface AnswerFormat {
  /** Whether clients get the body of an error that concerns their request as the provider wrote it. */
  readonly keepsErrorBodies: boolean;
  /** Parses the body of an error response. */
  parseError(body: Fields, status: number): ProviderError;
  /** Reads a whole answer, in turns of its tenant at the event loop if it is large. Throws `NoAnswer`. */
  readWhole(bytes: Buffer, options: ReadOptions): Promise<WholeAnswer>;
  /** Converts a unary response to the frames of a stream. Throws if it is no answer. */
  streamFrames(answer: Buffer): Buffer[];
  /** Converts a stream to a unary response. */
  answerBuilder(): AnswerBuilder;
  streamReader(choices: number, keepsText?: boolean): StreamReader;
  /** The answers of a turn with calls of tools, as the client gets them. */
  toolAnswers(isOwn: (name: string) => boolean): ToolAnswers;
  toolStream(sink: FrameSink, isOwn: (name: string) => boolean): ToolStream;
}

/** Answers with the tokens of a request, which is rewritten like one that gets an answer. */
export interface CountFormat {
  /** Reads a request that differs from one that gets an answer. */
  readRequest?(body: Buffer, parsed: unknown, inPath: RequestInPath): CompletionRequest;
  /** Whether a parsed answer of a provider has them. */
  isCount(answer: Fields): boolean;
  answerWith(tokens: number): Fields;
}

/** Answers as other services of the gateway read them. */
export interface ServiceFormat {
  /** A whole answer in which what a model says is one text. */
  plainAnswer(whole: Buffer): string;
  /** The vectors of an embeddings answer, one for each text; null if they are not there. */
  readEmbeddings(
    whole: Buffer,
    asked: { texts: number; tenantId: string | null },
  ): Promise<number[][] | null>;
}

/** An error that a provider reports, in its own words as far as they are of use to a client. */
export interface ProviderError {
  /** The status that the error has or would have; absent where the provider does not say. */
  status?: number;
  message?: string | undefined;
  code?: string | undefined;
  param?: string | undefined;
  /** Whether the provider is overloaded, where its API has no status of its own for that. */
  isOverload?: boolean | undefined;
  /** The time to wait before another call, where the body has it. */
  retryAfterMs?: number | undefined;
}

/** The bytes are no answer: with status 200 a provider reports an error, or sends something else (`error` is null). */
export class NoAnswer extends Error {
  readonly error: ProviderError | null;

  constructor(error: ProviderError | null) {
    super(error === null ? 'this is no answer' : 'the answer is an error');
    this.error = error;
  }
}

export interface ReadOptions {
  /** The tenant whose turns at the event loop a large answer takes. */
  tenantId: string | null;
  keepsText?: boolean;
}

/** Everything of an answer that is metered; the client gets the bytes themselves. */
export interface MeteredAnswer {
  usage: Usage | null;
  /** The tier that served the call, where the provider names it. */
  serviceTier: string | null;
  /** The text that was answered so far, calls of tools included, for previews and estimates. */
  answer: TextSample;
  responseModel: string | null;
}

export interface WholeAnswer extends MeteredAnswer {
  /** The text of the model in its first choice, cut; empty unless it is kept. */
  text: string;
  /** Why the provider broke the answer off, if it did: it is to be paid for, and no answer. */
  broken: ProviderError | null;
}

/** Builds a unary response of the frames of a stream. */
export interface AnswerBuilder {
  /** Throws if the frame can't be read. */
  add(frame: Buffer): void;
  /** The response so far; null if none has begun. */
  readonly built: Buffer | null;
}

/** The kind of one frame of a stream. */
export type FrameKind =
  /** Goes to the client as it is. */
  | 'chunk'
  /** The same, and the client gets it once the run has ended if no other frame follows. */
  | 'last'
  /** The usage of the whole stream. */
  | 'usage'
  | 'done'
  /** The provider reports an error inside the stream. */
  | 'error'
  /** A comment or an empty frame. */
  | 'other'
  /** Data that is no part of an answer, such as a ping of a relay: clients could not read it. */
  | 'foreign';

/** Reads the frames of a stream on their way. */
export interface StreamReader extends MeteredAnswer {
  /** Throws if the frame can't be read, or not within 50 ms. */
  read(frame: Buffer): FrameKind;
  readonly error: ProviderError | null;
  /** Whether a choice of the answer arrived. */
  readonly begun: boolean;
  /** Whether every requested choice has its end, so that a clean close is no cut. */
  readonly complete: boolean;
  /** Whether the answer seems to be whole, and its usage has not come yet. */
  readonly awaitsUsage: boolean;
  /** The text of the model so far, cut; empty unless it is kept. */
  readonly keptText: string;
  /** The last frames of a complete stream for the client. `usage`: for one that asked for it, else null. */
  endFrames(usage: Usage | null): Buffer[];
}

/** The receiver of the frames of an answer. */
export interface FrameSink {
  /** Returns false if the client reads more slowly than frames arrive. Once it caught up, the drain listener is called. */
  write(frames: readonly Buffer[]): boolean;
  onDrain(listener: () => void): void;
}

/** A call that a model asks for. */
export interface ToolCall {
  id: string;
  name: string;
  /** The text that the model wrote; JSON if it is right. An object or another value is written as JSON. */
  argumentsText: string;
  /** The object that the arguments are, as JSON; null if they are none, or take too long to parse. */
  argumentsJson: string | null;
}

/** A message of the model and its tool calls. */
export interface AssistantMessage {
  readonly calls: readonly ToolCall[];
  /** Whether it has reasoning with a signature, which only its own vendor may get back. */
  readonly isSigned: boolean;
  /** Gives each call an id that is not among `used`, and adds it there. */
  identified(used: Set<string>): AssistantMessage;
  /** The message for the next request, as JSON. */
  readonly text: string;
  /** The messages with the results of its calls for the next request, as JSON. `results`: a text for each call. */
  resultTexts(results: readonly string[]): readonly string[];
}

/** The whole answers of a turn, in their order. */
export interface ToolAnswers {
  /**
   * Reads a parsed answer; null if it has no message. Throws if it can't be read. `source`: its text, by which the numbers in
   * inputs of calls stay as they are written.
   */
  add(answer: Fields, source?: JsonSource): AssistantMessage | null;
  /** The last answer with the usage of all and without calls of the gateway's tools; null if nothing of it differs. */
  readonly shown: Buffer | null;
}

/** The streamed answers of a turn as one stream. */
export interface ToolStream extends FrameSink {
  /** Gets the last frames of an answer, which were held, before anything else is asked of it. */
  ended?(frames: readonly Buffer[]): void;
  /** The assistant message of the answer that has just ended. */
  readonly message: AssistantMessage;
  /** Begins the next answer. With `mayCall` false, calls of the gateway's tools are left out of it. */
  next(options: { mayCall: boolean }): void;
  show(event: ToolEvent): void;
  /** Passes on what was held: the answer is the last. */
  finish(): void;
  endFrames(usage: Usage | null): Buffer[];
}
