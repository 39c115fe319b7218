import { AppError, isErrorCode, toAppError, type ErrorCode } from '@gatehouse/kit/errors';
import { Metadata, status, type ServiceError } from '@grpc/grpc-js';

/** Metadata key for the fields of an `AppError`, as JSON. */
const detailKey = 'gatehouse-error-bin';

interface Detail {
  code: ErrorCode;
  message: string;
  param: string | null;
  headers: Record<string, string>;
  publicCode: string;
}

/** Status of a failed call, as a server sends it. */
export interface FailedStatus {
  code: status;
  details: string;
  metadata: Metadata;
}

/** Whether an error is the status of a call, and not the reason of an aborted signal or a fault. */
export function isStatus(error: unknown): error is FailedStatus & Error {
  return error instanceof Error && 'code' in error && 'metadata' in error;
}

/** Converts a thrown error to the status the server sends. The text of unexpected errors stays in this process. */
export function toStatus(caught: unknown): FailedStatus {
  const error = toAppError(caught);
  const { code, message, param, headers, publicCode } = error;
  const detail: Detail = { code, message, param, headers, publicCode };
  const metadata = new Metadata();
  metadata.set(detailKey, Buffer.from(JSON.stringify(detail)));
  return { code: error.grpcStatus, details: error.code, metadata };
}

/** Converts a failed call to `peer` to an `AppError`: the error of the peer, or one for the transport status. */
export function fromServiceError(error: FailedStatus, peer: string): AppError {
  const detail = readDetail(error);
  if (detail !== null) {
    // The peer rejected the credentials of this service, so the client must not get 401.
    if (detail.code === 'service_unauthenticated')
      return new AppError('bad_gateway', `The ${peer} service rejected the credentials of this service.`, {
        cause: error,
      });
    const { code, message, headers, publicCode } = detail;
    return new AppError(code, message, {
      param: detail.param ?? undefined,
      headers,
      publicCode,
      cause: error,
    });
  }
  if (error.code === status.UNAVAILABLE || isLost(error)) {
    const message = `The ${peer} service is unavailable. Try again shortly.`;
    return new AppError('service_unavailable', message, { cause: error });
  }
  if (error.code === status.DEADLINE_EXCEEDED)
    return new AppError('service_timeout', `The ${peer} service did not answer in time.`, { cause: error });
  return new AppError('internal', `A call to the ${peer} service failed.`, { cause: error });
}

/** The error of an unsent call, as grpc-js sets it for one without a connection. */
export function unavailable(cause: Error): ServiceError {
  const { message: details } = cause;
  const fields = { code: status.UNAVAILABLE, details, metadata: new Metadata() };
  return Object.assign(new Error(details, { cause }), fields);
}

/** Error of a call cancelled because its connection is of no use, as grpc-js sets it for a lost one. */
export function connectionDropped(cause: ServiceError): ServiceError {
  const { metadata } = cause;
  const details = 'Connection dropped';
  return Object.assign(new Error(details, { cause }), { code: status.UNAVAILABLE, details, metadata });
}

/** Texts of grpc-js for a call ended before the peer had sent a status, by the status set by grpc-js. */
const lostTexts: Partial<Record<status, RegExp>> = {
  [status.UNAVAILABLE]: /^Connection dropped$|^(read|write) E[A-Z]+$/,
  [status.INTERNAL]: /^Received RST_STREAM/,
  [status.UNKNOWN]: /^(No status information received|Received HTTP status code)/,
  // A reset with CANCEL: after cancelling, a caller gets its own reason.
  [status.CANCELLED]: /^Call cancelled$/,
  // A reset with ENHANCE_YOUR_CALM.
  [status.RESOURCE_EXHAUSTED]: /^Bandwidth exhausted/,
};

/** Whether a call ended with its connection or stream, and not by a status of the peer, which may have processed it. */
export function isLost(error: FailedStatus): boolean {
  return !isAnswer(error) && (lostTexts[error.code]?.test(error.details) ?? false);
}

/** Whether a peer has sent this status, after it has read the call. */
export function isAnswer({ metadata }: FailedStatus): boolean {
  return metadata.get(detailKey).length > 0;
}

/** Whether a call failed because there was no connection to the peer, which no request can cause. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof AppError) || !isStatus(error.cause)) return false;
  return error.cause.code === status.UNAVAILABLE && !isAnswer(error.cause) && !isLost(error.cause);
}

/** Whether the deadline of a call passed without a status of the peer, which may still work on it, or be gone. */
export function isUnanswered({ code, cause }: AppError): boolean {
  return code === 'service_timeout' && isStatus(cause) && !isAnswer(cause);
}

/** Whether an error means an unavailable peer or database, so a cached value may be used. */
export function isOutage(error: unknown): boolean {
  return error instanceof AppError && outageCodes.has(error.code);
}

/**
 * For calls a client request waits for: `peer.call(…).catch(hangIsOutage)`. Converts `service_timeout` to
 * `service_unavailable`, so the client gets 503 for a hanging peer, as for one that is down.
 */
export function hangIsOutage(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== 'service_timeout') throw error;
  throw new AppError('service_unavailable', `${error.message} Try again shortly.`, { cause: error });
}

/**
 * Whether a call failed because the message is larger than the peer accepts. A RESOURCE_EXHAUSTED status the peer
 * itself set, as for a rate limit, has its own code and is not included.
 */
export function isMessageTooLarge(error: unknown): boolean {
  if (!(error instanceof AppError) || error.code !== 'internal') return false;
  const { code } = Object(error.cause) as { code?: unknown };
  return code === status.RESOURCE_EXHAUSTED;
}

const outageCodes = new Set<ErrorCode>([
  'service_unavailable',
  'service_timeout',
  'database_unavailable',
  'query_timeout',
]);

function readDetail(error: FailedStatus): Detail | null {
  const [raw] = error.metadata.get(detailKey);
  if (!Buffer.isBuffer(raw)) return null;
  const detail = JSON.parse(raw.toString('utf8')) as Detail;
  return isErrorCode(detail.code) ? detail : null;
}
