/** gRPC metadata keys between services. The key of the assertion equals the name of the HTTP header. */
export const callerTokenKey = 'x-gatehouse-service-token';
export const requestIdKey = 'x-request-id';
export const traceparentKey = 'traceparent';

/** Larger messages are refused. The limit of responses is the default of grpc-js. */
export const maxRequestBytes = 8 * 1024 * 1024;
export const maxResponseBytes = 4 * 1024 * 1024;
