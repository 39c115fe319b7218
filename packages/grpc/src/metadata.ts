/** gRPC metadata keys between services. The key of the assertion equals the name of the HTTP header. */
export const callerTokenKey = 'x-gatehouse-service-token';
export const requestIdKey = 'x-request-id';
export const traceparentKey = 'traceparent';
