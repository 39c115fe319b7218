import type { ServiceName } from '@gatehouse/contract/routes';
import { AppError } from '@gatehouse/kit/errors';

/** Whether no connection was made, so nothing was sent: it was refused, has no route, or timed out. */
export function wasRefused(error: unknown): boolean {
  const { code, syscall, errors } = (error ?? {}) as NodeJS.ErrnoException & Partial<AggregateError>;
  // Connecting to a name with several addresses fails with one error for each.
  if (Array.isArray(errors)) return errors.every(wasRefused);
  return syscall === 'connect' || syscall === 'getaddrinfo' || code === 'UND_ERR_CONNECT_TIMEOUT';
}

/** The client's error when a service can't be reached, breaks off, times out or sends invalid HTTP. */
export function upstreamError(service: ServiceName, error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (wasRefused(error)) return unreachable(service, error);
  return new AppError(
    'bad_gateway',
    `The ${service} service did not complete its answer. The request may have taken effect.`,
    { cause: error },
  );
}

export function unreachable(service: ServiceName, cause?: unknown): AppError {
  return new AppError('service_unavailable', `The ${service} service cannot be reached. Try again shortly.`, {
    cause,
    headers: { 'retry-after': '1' },
  });
}

/** For a 401 of a service: it rejects the edge's own assertion. The client's key is valid, so the client gets no 401. */
export function rejectedAssertion(service: ServiceName): AppError {
  return new AppError('bad_gateway', `The ${service} service rejected the gateway's own credentials.`);
}
