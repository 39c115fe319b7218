import type { ServiceName } from '@gatehouse/contract/routes';
import { AppError } from '@gatehouse/kit/errors';

/** Errors of a connection that was never made, so that nothing was sent. */
const neverConnected = new Set(['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENOTFOUND']);

export function wasRefused(error: unknown): boolean {
  return neverConnected.has((error as NodeJS.ErrnoException | null)?.code ?? '');
}

/** What the client is told when a service can't be reached or drops its request. */
export function upstreamError(service: ServiceName, error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (wasRefused(error)) return unreachable(service, error);
  return new AppError(
    'bad_gateway',
    `The ${service} service broke off. Whether the request took effect is unknown.`,
    {
      cause: error,
    },
  );
}

export function unreachable(service: ServiceName, cause?: unknown): AppError {
  return new AppError(
    'service_unavailable',
    `The ${service} service can not be reached. Try again shortly.`,
    {
      cause,
      headers: { 'retry-after': '1' },
    },
  );
}

/** A service that refuses the edge's own assertion is misconfigured; the client's key is not at fault. */
export function rejectedAssertion(service: ServiceName): AppError {
  return new AppError('bad_gateway', `The ${service} service refused the edge.`);
}
