import type { AnswerFormat, ProviderError } from '@gatehouse/dialects/dialect';
import type { UpstreamApi } from '@gatehouse/dialects/upstream-api';
import type { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderCall } from './adapter.ts';
import type { Credentials, OutgoingRequest } from './credentials.ts';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';

/** A call in the terms of its API. */
export type ApiCall = Pick<ProviderCall, 'api' | 'operation' | 'model' | 'stream' | 'isBatch' | 'headers'>;

/** A call whose body is made fit for its provider. */
export interface FittedCall extends Pick<ApiCall, 'api' | 'operation' | 'headers'> {
  /** The name by which the facts of the model are known: `family` of the catalogue, else the provider's. */
  rulesName: string;
  /** Hints and betas known to be refused by the deployment. */
  refused: ReadonlySet<string>;
}

export interface FittedBody {
  body: Pieces;
  /** Names of hints left out of headers and body. */
  dropped: readonly string[];
  /** Whether a count has a tool without the beta that other calls send with it: the host may refuse the tool there. */
  isUnsure?: boolean;
}

/** How providers of a kind are called, and how their answers are read. */
export interface ProviderKind {
  credentials: Credentials;
  /** The request of a call: its path, and headers and body where the kind wants them otherwise than the API has them. */
  requestOf(call: ApiCall, body: Pieces): OutgoingRequest;
  answersOf(call: ApiCall): CallAnswers;
  /**
   * Makes bodies fit for providers of the kind, which refuse some fields; absent where they take all. An error for a body
   * that means something else without such a field. `hintsIn`: the API with hints and betas that they refuse.
   */
  fit?: { hintsIn: UpstreamApi; body(call: FittedCall, body: Pieces): FittedBody | AppError };
  /** The requests of a call in several; null for a call of one. `body`: as its API has it. */
  batchOf?(call: ApiCall, body: Pieces): EmbeddingBatch | null;
}

/** A call for vectors, split into several requests for its provider. */
export interface EmbeddingBatch {
  /** The requests, each made when it is about to be sent. */
  parts: Generator<BatchPart>;
  /** Reads the answer to one. Throws if it can't be read. */
  read(answer: BatchAnswer): Promise<PartVectors>;
  /** The text of an answer in the call's API; absent for OpenAI's, except for additions of a view. */
  text?: AnswerText;
}

/** The text of an answer around its vectors. */
export interface AnswerText {
  head: string;
  /** Before each vector, which an object ends. */
  before: string;
  /** The end of a list of vectors. */
  end: string;
  usage: (tokens: number) => string;
}

export interface BatchPart {
  body: Pieces;
  /** The number of texts in it. */
  texts: number;
}

export interface UnaryResponse {
  bytes: Buffer;
  headers: ResponseHeaders;
}

export interface BatchAnswer extends UnaryResponse {
  /** The number of texts sent. */
  texts: number;
  /** A large answer takes this tenant's turns at the event loop. */
  tenantId: string;
}

export interface PartVectors {
  /** The JSON text of each. */
  vectors: readonly Buffer[];
  /** Null where the provider does not report it. */
  inputTokens: number | null;
}

/** How the answers to a call are read. */
export interface CallAnswers {
  format: CallFormat;
  /** Splits a stream of another form than server-sent events. */
  splitter?: EncodedStream;
  /** The whole answer as its API has it. Throws if it can't be read. */
  whole?(bytes: Buffer): Buffer;
}

/** A provider, and how its answers to a call are read. */
export interface AnswerOrigin extends CallAnswers {
  /** Name of the provider. */
  name: string;
}

/** A stream of another encoding, by its content type. */
export interface EncodedStream {
  contentType: string;
  create(): StreamSplitter;
}

/** Splits the bytes of a stream into frames of server-sent events. */
export interface StreamSplitter {
  /** Complete frames in `chunk`, together with what earlier chunks left. Throws for what can't be read, or is too large. */
  push(chunk: Buffer): Buffer[];
  /** Bytes of the frame under way. */
  readonly size: number;
  /** The rest when the stream ends, which may be a frame; empty where frames have their length. */
  readonly rest: Buffer;
}

/** The part of an API's format for calls. */
export interface CallFormat extends Pick<AnswerFormat, 'isError' | 'streamFrames' | 'answerBuilder'> {
  /** Reads the body of an error with a status. */
  parseError(body: Fields, status: number, headers: ResponseHeaders): ProviderError;
  /** The status of an error by its headers, where different from the response's. */
  statusOf?(status: number, headers: ResponseHeaders): number;
}

/** As undici has them. */
export type ResponseHeaders = Record<string, string | string[] | undefined>;
