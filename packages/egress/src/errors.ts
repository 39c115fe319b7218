/** What went wrong with a call. */
export type EgressFailure =
  /** The address may not be called. */
  | 'not_allowed'
  /** There is no such host, or it can't be connected. */
  | 'unreachable'
  /** Its certificate is not valid for the host. */
  | 'tls'
  | 'timeout'
  /** The headers or the body are too large. */
  | 'too_large'
  /** The answer is no HTTP, or was cut. */
  | 'invalid_response';

const messages: Record<EgressFailure, string> = {
  not_allowed: 'The URL is not allowed.',
  unreachable: 'The host could not be reached.',
  tls: 'The certificate of the host is not valid.',
  timeout: 'The host did not answer in time.',
  too_large: 'The answer of the host is too large.',
  invalid_response: 'The answer of the host is not valid.',
};

/** A call that failed. The message may be shown to tenants: it says nothing about what answered at an address. */
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
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'too_large',
  UND_ERR_SOCKET: 'invalid_response',
  ECONNREFUSED: 'unreachable',
  ECONNRESET: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  ETIMEDOUT: 'timeout',
};

/** The error of a call, as an `EgressError`. */
export function egressError(error: unknown): EgressError {
  if (error instanceof EgressError) return error;
  const { code, cause, errors } = Object(error) as { code?: string; cause?: unknown; errors?: unknown[] };
  for (const inner of [cause, ...(errors ?? [])]) if (inner instanceof EgressError) return inner;
  if (error instanceof Error && error.name === 'TimeoutError')
    return new EgressError('timeout', { cause: error });
  return new EgressError(failureOf(code ?? ''), { cause: error });
}

function failureOf(code: string): EgressFailure {
  if (/^(?:ERR_TLS|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)/.test(code)) return 'tls';
  if (code.startsWith('HPE_')) return code === 'HPE_HEADER_OVERFLOW' ? 'too_large' : 'invalid_response';
  return failureOfCode[code] ?? 'unreachable';
}
