/** gRPC metadata keys between services; the assertion's key is the HTTP header's name. */
export const callerTokenKey = 'x-gatehouse-service-token';
export const requestIdKey = 'x-request-id';
export const traceparentKey = 'traceparent';
