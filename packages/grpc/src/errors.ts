import { AppError, isErrorCode, toAppError, type ErrorCode } from '@gatehouse/kit/errors';
import { Metadata, status, type ServiceError } from '@grpc/grpc-js';

/** Carries our own code, field and headers beside the gRPC status, as JSON. */
const detailKey = 'gatehouse-error-bin';

interface Detail {
  code: ErrorCode;
  message: string;
  param: string | null;
  headers: Record<string, string>;
  publicCode: string;
}

/** What a server sends for a thrown error. The text of unexpected ones stays here. */
export function toStatus(caught: unknown): { code: status; details: string; metadata: Metadata } {
  const error = toAppError(caught);
  const { code, message, param, headers, publicCode } = error;
  const detail: Detail = { code, message, param, headers, publicCode };
  const metadata = new Metadata();
  metadata.set(detailKey, Buffer.from(JSON.stringify(detail)));
  // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the error table holds gRPC's own numbers
  return { code: error.grpcStatus, details: error.code, metadata };
}

/** What a client throws for a failed call to `peer`: the peer's own error, or what the transport says. */
export function fromServiceError(error: ServiceError, peer: string): AppError {
  const detail = readDetail(error);
  if (detail !== null) {
    // Our own credentials were refused: never the client's 401.
    if (detail.code === 'service_unauthenticated')
      return new AppError('bad_gateway', `The ${peer} service refused this service.`, { cause: error });
    const { code, message, headers, publicCode } = detail;
    return new AppError(code, message, {
      param: detail.param ?? undefined,
      headers,
      publicCode,
      cause: error,
    });
  }
  switch (error.code) {
    case status.UNAVAILABLE:
      return new AppError(
        'service_unavailable',
        `The ${peer} service can not be reached. Try again shortly.`,
        { cause: error },
      );
    case status.DEADLINE_EXCEEDED:
      return new AppError('service_timeout', `The ${peer} service did not answer in time.`, { cause: error });
    case status.CANCELLED:
      return new AppError('client_closed_request', 'The request was cancelled.', { cause: error });
    default:
      return new AppError('internal', `A call to the ${peer} service failed.`, { cause: error });
  }
}

/** Whether an error means that a peer, or the database behind it, is away: the answer may come from a cache then. */
export function isOutage(error: unknown): boolean {
  return error instanceof AppError && outageCodes.has(error.code);
}

/**
 * For calls that a client's request waits for, as `peer.call(…).catch(hangIsOutage)`: a peer that hangs is away as much
 * as one that refuses, so the client gets 503 for both. A 504 would speak of a deadline that it never set.
 */
export function hangIsOutage(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== 'service_timeout') throw error;
  throw new AppError('service_unavailable', `${error.message} Try again shortly.`, { cause: error });
}

/**
 * Whether an error of a call says that the message is larger than the peer takes. A peer's own refusal for want of a
 * resource, such as a rate limit, brings its code and is none.
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

function readDetail(error: ServiceError): Detail | null {
  const [raw] = error.metadata.get(detailKey);
  if (!Buffer.isBuffer(raw)) return null;
  const detail = JSON.parse(raw.toString('utf8')) as Detail;
  return isErrorCode(detail.code) ? detail : null;
}
