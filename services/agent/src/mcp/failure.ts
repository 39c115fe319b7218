import { SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client';
import { AppError } from '@gatehouse/kit/errors';
import { EgressError, type EgressFailure } from '@gatehouse/egress/errors';

/** The kind of a failure of a server. */
export type McpFailureKind =
  /** No connection, or no answer of an MCP server: nothing was executed. */
  | 'unreachable'
  /** The server does not accept the credentials. */
  | 'unauthorized'
  /** A user must consent first. */
  | 'needs_consent'
  /** The server names another authorization server than the one of the tenant's client. */
  | 'other_issuer'
  | 'timeout'
  | 'too_large'
  /** Too many calls are under way. */
  | 'busy'
  /** The session is unknown to the server. */
  | 'session'
  /** The server answers with an error, or not as the protocol says. */
  | 'invalid';

const sentences: Record<McpFailureKind, string> = {
  unreachable: 'The server could not be reached.',
  unauthorized: 'The server did not accept the credentials.',
  needs_consent: 'The server needs a consent: a user must open a consent link of it first.',
  other_issuer:
    'The server names another authorization server than the one of its client: an admin must send its auth again.',
  timeout: 'The server did not respond in time.',
  too_large: 'The response of the server is too large.',
  busy: 'Too many calls of servers, or too many large responses, are under way.',
  session: 'The server has ended the session.',
  invalid: 'The server returned an invalid response.',
};

/** The message of failures of a kind. */
export function sentenceOf(kind: McpFailureKind): string {
  return sentences[kind];
}

/** A failed call of a server. Its message may be shown to tenants and models: it has no word of the server. */
export class McpFailure extends Error {
  readonly kind: McpFailureKind;
  /** Whether the server is known to have done nothing. */
  readonly isUndone: boolean;
  whileConnecting = false;

  constructor(
    kind: McpFailureKind,
    { isUndone = false, ...options }: ErrorOptions & { isUndone?: boolean } = {},
  ) {
    super(sentences[kind], options);
    this.name = 'McpFailure';
    this.kind = kind;
    this.isUndone = isUndone;
  }

  /** The same failure, during a connection attempt. */
  atConnecting(): this {
    this.whileConnecting = true;
    return this;
  }
}

const egressFailures: Record<EgressFailure, McpFailureKind> = {
  not_allowed: 'unreachable',
  invalid_request: 'invalid',
  busy: 'busy',
  unreachable: 'unreachable',
  tls: 'unreachable',
  timeout: 'timeout',
  too_large: 'too_large',
  invalid_response: 'invalid',
};

/** An error and what caused it, from the outside in: the client wraps errors of its transport. */
export function* causesOf(error: unknown): Generator<Error> {
  for (let cause = error; cause instanceof Error; cause = cause.cause) yield cause;
}

/** The failure behind an error of the client. Throws errors of our own, like those of the database. */
export function mcpFailure(error: unknown): McpFailure {
  for (const cause of causesOf(error)) {
    if (cause instanceof McpFailure) return cause;
    if (cause instanceof AppError) throw cause;
  }
  return new McpFailure(kindOf(error), { cause: error, isUndone: isUnknownSession(error) });
}

/** A server answers 404 for an unknown session, and has executed nothing; a 400 may have other reasons. */
function isUnknownSession(error: unknown): boolean {
  for (const cause of causesOf(error)) if (cause instanceof SdkHttpError) return cause.data.status === 404;
  return false;
}

function kindOf(error: unknown): McpFailureKind {
  for (const cause of causesOf(error)) {
    if (cause instanceof EgressError) return egressFailures[cause.failure];
    if (cause instanceof UnauthorizedError) return 'unauthorized';
    if (cause instanceof SdkHttpError) return failureOfStatus(cause.data.status);
    if (cause instanceof SdkError && cause.code === SdkErrorCode.RequestTimeout) return 'timeout';
  }
  return 'invalid';
}

function failureOfStatus(status: number): McpFailureKind {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404 || status === 400) return 'session';
  return status === 502 || status === 503 || status === 504 ? 'unreachable' : 'invalid';
}
