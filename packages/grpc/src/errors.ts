import { AppError, isErrorCode, toAppError, type ErrorCode } from '@gatehouse/kit/errors';
import { Metadata, status, type ServiceError } from '@grpc/grpc-js';

/** Carries our own code, field and headers beside the gRPC status, as JSON. */
const detailKey = 'gatehouse-error-bin';

interface Detail {
  code: ErrorCode;
  message: string;
  param: string | null;
}

/** What a server sends for a thrown error. The text of unexpected ones stays here. */
export function toStatus(caught: unknown): { code: status; details: string; metadata: Metadata } {
  const error = toAppError(caught);
  const detail: Detail = { code: error.code, message: error.message, param: error.param };
  const metadata = new Metadata();
  metadata.set(detailKey, Buffer.from(JSON.stringify(detail)));
  // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the error table holds gRPC's own numbers
  return { code: error.grpcStatus, details: error.code, metadata };
}

/**
 * What a client throws for a failed call to `peer`: the peer's own error, or what the transport says. A peer that hangs
 * is away as much as one that refuses: both are 503 to a client, who set no deadline and learns nothing from a 504.
 */
export function fromServiceError(error: ServiceError, peer: string): AppError {
  const detail = readDetail(error);
  if (detail !== null && detail.code !== 'service_timeout')
    return new AppError(detail.code, detail.message, { param: detail.param ?? undefined, cause: error });
  switch (error.code) {
    case status.UNAVAILABLE:
      return new AppError(
        'service_unavailable',
        `The ${peer} service can not be reached. Try again shortly.`,
        { cause: error },
      );
    case status.DEADLINE_EXCEEDED:
      return new AppError(
        'service_unavailable',
        `The ${peer} service did not answer in time. Try again shortly.`,
        { cause: error },
      );
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

const outageCodes = new Set<ErrorCode>(['service_unavailable', 'database_unavailable']);

function readDetail(error: ServiceError): Detail | null {
  const [raw] = error.metadata.get(detailKey);
  if (!Buffer.isBuffer(raw)) return null;
  const detail = JSON.parse(raw.toString('utf8')) as Detail;
  return isErrorCode(detail.code) ? detail : null;
}
