import type { DialectName, ModelOperation, StreamPlace } from '@gatehouse/contract/dialects';
import type { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import type { TokenLimit, ToolRewrite } from './request-additions.ts';
import type { Compaction, RequestState, StateFormat } from './state-format.ts';
import type { Attachments, PromptParts } from './prompt-parts.ts';
import type { ReasoningRewrite } from './reasoning-rewrite.ts';
import type { SignatureFormat } from './signatures-in.ts';
import type { OtherModel, Thinking } from './request-fields.ts';
import type { RefusalWriter } from './refusal-writer.ts';
import type { ToolEvent } from './tool-event.ts';
import type { TextFormat } from './text-view/text-rules.ts';
import type { TextSample } from './usage/token-estimate.ts';
import type { HistoryFormat, PathCall, UpstreamApi } from './upstream-api.ts';
import type { FeeTool } from './usage/fee-tools.ts';
import type { BilledTool, TokenClass, Usage } from './usage/usage.ts';
import type { JsonSource } from './wire/json-text.ts';
import type { Pieces } from './wire/pieces.ts';
import type { Share } from './wire/request-text.ts';

/**
 * An API of clients and providers: its requests, responses, streams and errors. Callers get it from the registry
 * `dialects.ts` and use it by this interface. A new one is a folder beside `openai-chat/`, and its lines in the registries.
 */
export interface Dialect extends RequestFormat, AnswerFormat, HistoryFormat {
  readonly name: DialectName;
  readonly texts: TextFormat;
  /** Sent to the client of a stream while the provider is silent. */
  readonly keepAlive: Buffer;
  /** Counts of the tokens of requests; absent in an API without them. */
  readonly counts?: CountFormat;
  /** Tracks the position in a stream, for dialects with error events in its numbering. */
  follower?(): StreamFollower;
  readonly state?: StateFormat;
  /** The reasoning signatures in answers of its providers; null without one. */
  readonly signatures: SignatureFormat | null;
  /** Whether models reason although the request doesn't ask for it. */
  readonly reasonsUnasked: boolean;
  /** Reads a request for a summary of its conversation, by its path. */
  readCompaction?(body: Buffer, parsed: unknown): CompletionRequest;
}

export interface StreamFollower {
  see(frames: readonly Buffer[]): void;
  /** The position behind these frames; null if it is not known. */
  readonly place: StreamPlace | null;
}

export type Operation = ModelOperation;

/** Requests, as clients write them and as providers of the same format read them. */
export interface RequestFormat {
  /**
   * Reads a request. `parsed` is its body as JSON; `inPath`: the part of it in its path, in dialects with one there.
   * Throws 400s with the name of the field.
   */
  readRequest(operation: Operation, body: Buffer, parsed: unknown, inPath?: RequestInPath): CompletionRequest;
  /** The path of a call, behind the base address of the vendor's own SDK. */
  pathOf(call: PathCall): string;
  /** Names of an agent's parameters without a field in the API. They reach no provider. */
  unsupportedDefaults(defaults: Fields): string[];
  /** The definition of a tool as models get it: JSON text, to be joined with commas. */
  toolText(tool: ToolDefinition): string;
}

/** The part of a request in its path, in dialects with one there instead of in the body. */
export type RequestInPath = Pick<RequestHead, 'model' | 'stream' | 'isBatch'>;

export interface ToolDefinition {
  name: string;
  description: string;
  /** JSON text. */
  schemaJson: string;
}

/** The fields of a client's request for the gateway's use while it is under way. */
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
  /** Seals a summary written by a model for the gateway, for a request of this kind. */
  sealSummary?: ((summary: string) => string) | undefined;
}

/** Parts of an agent repeated in a provider's answer. */
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
  /** The answer its request went on from. */
  previousId: string | null;
}

/** The answer of a provider as the client of a request gets it. */
export interface AnswerView {
  frame(frame: Buffer): Buffer;
  /** `by`: the model behind the answer. */
  whole(bytes: Buffer, tenantId: string, by: AnsweringModel): Promise<Buffer>;
}

export type AnsweringModel = Record<'upstreamModel', string> & Record<'api', UpstreamApi>;

/** A client's request as it is read, until it is accepted. */
export interface CompletionRequest extends RequestHead {
  /** Size of its text. */
  readonly bytes: number;
  /** The conversation of the request, if the client names it; never a user. */
  readonly session: string | null;
  /** Absent where a dialect keeps no answers. */
  readonly state?: RequestState;
  /** Names of the client's tools. */
  readonly toolNames: readonly unknown[];
  /** Ids of the calls of tools in its conversation, in their order. */
  readonly callIds: readonly string[];
  /** The texts up to and with the first message of the user, the last 64 at most; empty without this message. */
  readonly firstTexts: readonly string[];
  /** The text of the newest user message or of the input of another operation, at most `maxChars`, for previews. */
  inputPreview(maxChars: number): string;
  /** The newest message of the user: its index, and the text of its parts. Null without a message with text. */
  lastUserText(): { index: number; text: string } | null;
  /**
   * A sample of the prompt for estimating its tokens, so the request itself need not be kept. `added`: texts added by
   * the gateway to the client's messages.
   */
  promptSample(added?: readonly (string | TextSample)[]): TextSample;
  /** The number of answers. `defaults`: an agent's parameters. Here and below, the client's members replace those. */
  choicesWith(defaults: Fields): number;
  thinking(defaults: Fields): Thinking;
  /** Models that the provider may call beside the request's own: an advisor, fallbacks. Each with its field. */
  otherModels(defaults: Fields): readonly OtherModel[];
  /** The parts of the prompt; null for a prompt without parts, as of other operations than chat. */
  promptParts(): PromptParts | null;
  /** The amounts for rate limits and budgets. */
  requestedAmounts(defaults: Fields): RequestedAmounts;
  /** The error if the request cannot be translated for this model; null if it can. Omitted: it can for no model of another API. */
  refusalIn?(model: AnsweringModel): AppError | null;
  /** Shows what the client asked for, where a provider repeats more; null where the bytes stay. Holds no request. */
  readonly viewWith?: (added: Additions) => AnswerView | null;
  /** The same for a kept answer, with everything needed by a later request. */
  readonly keptView?: (added: Additions) => AnswerView;
  /** The text for provider calls. Throws a 400 for a request with too many members. */
  source(share: Share): RequestSource;
}

/** Amounts of tokens, choices and tools available to a request. */
export interface RequestedAmounts {
  choices: number;
  /** Tokens of each answer at most; null without a limit. */
  maxTokens: number | null;
  /** Whether the provider may summarise the conversation first: it reads the prompt and writes a text once more. */
  compacts?: boolean;
  serviceTier: string | null;
  /** Classes of tokens certain to be in the prompt or an answer beside text. */
  classes: readonly TokenClass[];
  attachments: Attachments;
  /** Tools of the provider with a fee for each call; absent for embeddings. */
  feeTools?: readonly FeeTool[];
}

/** The text of a request, for as long as another provider call may need it. */
export interface RequestSource {
  /** Bytes of the client's request; 0 once it is released. */
  readonly bytes: number;
  /** The body for a provider, in an API without refusals. Throws a 400 for an unreadable request, and once released. */
  rewritten(rewrite: Rewrite): Pieces;
  /** Names of the request's hints without a field in the body for a model. */
  droppedFields?(model: AnsweringModel): readonly string[];
  /** Sets how many bytes of copies of the text are in memory for a provider call. */
  copied(bytes: number): void;
  /** Frees the text: the answer has begun, and no further provider call follows. */
  release(): void;
}

/** Changes of the gateway to a client's request before a provider gets it; everything else stays byte for byte. */
export interface Rewrite extends ReasoningRewrite {
  /** The API of the request to the provider; absent for the client's own. */
  api?: UpstreamApi;
  /** The provider's name of the model. */
  model: string;
  /** The name by which `factsOf` knows the model, if it is not the provider's. */
  rulesName?: string | undefined;
  /** Whether the model reasons; absent where the catalogue does not know. */
  reasons?: boolean | undefined;
  /** Whether thoughts behind what the gateway changes are left out by the provider instead of refused. */
  bindsThinking?: boolean;
  /** Whether the provider counts the tokens of the request instead of answering it. */
  counts?: true;
  /** Ask for usage at the end of the stream, which the client may not have done. */
  includeUsage: boolean;
  /** Put before the client's messages. */
  systemPrompt: string | null;
  /** Put before the client's message with this index, as a message of the user. */
  reference: { index: number; content: string } | null;
  /** Added unless the client gave a member of the name. */
  defaults: Fields;
  /** Lowers the limit of each answer; null leaves it. */
  maxTokens: TokenLimit | null;
  /** Changes for the gateway's own tools; null without them. */
  tools: ToolRewrite | null;
  /** Tools left out of those offered by the client with each request; absent if all stay. */
  withoutTools?: ReadonlySet<BilledTool> | undefined;
}

/** Answers, as providers write them. */
export interface AnswerFormat {
  /** Whether a body of an error is one of the API's own, so its clients can read it. */
  isError?(body: Fields): boolean;
  /** Parses the body of an error response. */
  parseError(body: Fields, status: number): ProviderError;
  /** Reads a whole answer, in turns of its tenant at the event loop if it is large. Throws `NoAnswer`. */
  readWhole(bytes: Buffer, options: ReadOptions): WholeAnswer | Promise<WholeAnswer>;
  /** Converts a unary response to the frames of a stream. Throws if it is no answer. */
  streamFrames(answer: Buffer): Buffer[];
  /** Converts a stream to a unary response. */
  answerBuilder(): AnswerBuilder;
  streamReader(choices: number, keepsText?: boolean): StreamReader;
  /** The answers of a turn with calls of tools, as the client gets them. */
  toolAnswers(isOwn: (name: string) => boolean): ToolAnswers;
  toolStream(sink: FrameSink, isOwn: (name: string) => boolean): ToolStream;
  /** Ends choices of a stream in place of the provider. `choices`: as many were requested. */
  refusalWriter(choices: number): RefusalWriter;
}

/** Answers with the tokens of a request. It is rewritten like a request for an answer. */
export interface CountFormat {
  /** Reads a request with another shape than one for an answer. */
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

/** An error of a provider, in its own words as far as they are of use to a client. */
export interface ProviderError {
  /** The actual or fitting status of the error; absent where the provider does not say. */
  status?: number;
  message?: string | undefined;
  code?: string | undefined;
  param?: string | undefined;
  /** Whether the provider is overloaded, in an API without a status of its own for it. */
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
  /** The tenant charged for a large answer's turns at the event loop. */
  tenantId: string | null;
  keepsText?: boolean;
}

/** All metered content of an answer; the client gets the bytes themselves. */
export interface MeteredAnswer {
  usage: Usage | null;
  /** The tier of the call, where the provider names it. */
  serviceTier: string | null;
  /** The text of the answer so far, calls of tools included, for previews and estimates. */
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
  /** The response so far; null before it has begun. */
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
  /** Data outside the answer, like a ping of a relay: clients could not read it. */
  | 'foreign';

/** Reads the frames of a stream on their way. */
export interface StreamReader extends MeteredAnswer {
  /** Throws if the frame can't be read, or not within 50 ms. */
  read(frame: Buffer): FrameKind;
  readonly error: ProviderError | null;
  /** Whether a choice of the answer arrived. */
  readonly begun: boolean;
  /** Whether every requested choice has its end, so a clean close is no cut. */
  readonly complete: boolean;
  /** Whether the answer seems to be whole, and its usage has not come yet. */
  readonly awaitsUsage: boolean;
  /** The text of the model so far, cut; empty unless it is kept. */
  readonly keptText: string;
  /** The last frames of a complete stream for the client. `usage`: for a client with a request for it, else null. */
  endFrames(usage: Usage | null): Buffer[];
}

/** The receiver of the frames of an answer. */
export interface FrameSink {
  /** Returns false if the client reads more slowly than frames arrive. Once it caught up, the drain listener is called. */
  write(frames: readonly Buffer[]): boolean;
  onDrain(listener: () => void): void;
}

/** A model's call of a tool. */
export interface ToolCall {
  id: string;
  name: string;
  /** The model's text; JSON if it is right. An object or another value is written as JSON. */
  argumentsText: string;
  /** The object of the arguments, as JSON; null for anything else, or if parsing takes too long. */
  argumentsJson: string | null;
}

/** A message of the model and its tool calls. */
export interface AssistantMessage {
  readonly calls: readonly ToolCall[];
  /** Whether it has reasoning with a signature, which only its own vendor may get back. */
  readonly isSigned: boolean;
  /** Gives each call an id outside `used`, and adds it there. */
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
  /** The assistant message of the answer just ended. */
  readonly message: AssistantMessage;
  /** Begins the next answer. With `mayCall` false, calls of the gateway's tools are left out of it. */
  next(options: { mayCall: boolean }): void;
  show(event: ToolEvent): void;
  /** Passes on what was held: the answer is the last. */
  finish(): void;
  endFrames(usage: Usage | null): Buffer[];
}
