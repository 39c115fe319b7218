/** Carries the code of an error from a service to the edge, for the access log. The client gets it in the body alone. */
export const errorCodeHeader = 'x-gatehouse-error-code';
