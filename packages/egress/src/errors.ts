/** Reasons for the failure of a call. */
export type EgressFailure =
  /** The address may not be called. */
  | 'not_allowed'
  /** A header can't be sent. */
  | 'invalid_request'
  /** Too many calls of the tenant, of the host, or of all hosts, are under way. */
  | 'busy'
  /** The host does not exist, or no connection to it could be made: nothing was sent. */
  | 'unreachable'
  /** No TLS connection could be made, for example because the certificate is not valid for the host. */
  | 'tls'
  | 'timeout'
  /** The headers or the body are too large. */
  | 'too_large'
  /** The response is not HTTP, or the connection broke before its end. */
  | 'invalid_response';

const messages: Record<EgressFailure, string> = {
  not_allowed: 'The URL is not allowed.',
  invalid_request: 'A header of the request is not allowed.',
  busy: 'Too many requests are under way.',
  unreachable: 'The host could not be reached.',
  tls: 'No secure connection to the host could be made.',
  timeout: 'The host did not respond in time.',
  too_large: 'The response of the host is too large.',
  invalid_response: 'The host returned an invalid response.',
};

/** A failed call. The message may be shown to tenants: it says nothing about what is at an address. */
export class EgressError extends Error {
  readonly failure: EgressFailure;

  constructor(failure: EgressFailure, options?: ErrorOptions) {
    super(messages[failure], options);
    this.name = 'EgressError';
    this.failure = failure;
  }
}

const failureOfCode: Readonly<Record<string, EgressFailure>> = {
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'invalid_response',
  UND_ERR_SOCKET: 'invalid_response',
  UND_ERR_INVALID_ARG: 'invalid_request',
  UND_ERR_NOT_SUPPORTED: 'invalid_request',
  ECONNRESET: 'invalid_response',
  EPIPE: 'invalid_response',
  ECONNREFUSED: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  ETIMEDOUT: 'timeout',
  EPROTO: 'tls',
};

/** OpenSSL's and Node's names for what is wrong with a certificate or a handshake. */
const tlsCodes =
  /^(?:ERR_TLS|ERR_SSL|CERT_|CRL_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|INVALID_|PATH_LENGTH|ERROR_IN_C|HOSTNAME_)/;

/** The `EgressError` for an error of undici or Node. Other errors are returned as they are. */
export function egressError(error: unknown): unknown {
  if (error instanceof EgressError) return error;
  // A host tried at several addresses fails with an error for each.
  const { errors } = Object(error) as { errors?: unknown[] };
  const first = Array.isArray(errors) ? errors[0] : error;
  if (first instanceof EgressError) return first;
  const failure = failureOf(Object(first) as NodeJS.ErrnoException);
  return failure === undefined ? error : new EgressError(failure, { cause: error });
}

function failureOf({ name, code = '' }: NodeJS.ErrnoException): EgressFailure | undefined {
  if (name === 'HTTPParserError') return 'invalid_response';
  if (name === 'TimeoutError') return 'timeout';
  return failureOfCode[code] ?? (tlsCodes.test(code) ? 'tls' : undefined);
}
