/**
 * With this header a service reports to the edge a 401 for the client, after refusing its signature, key or session,
 * and not for the edge's own assertion. The edge removes it.
 */
export const credentialRefusedHeader = 'x-gatehouse-signature-refused';
