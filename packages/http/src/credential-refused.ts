/**
 * With this header a service reports to the edge that a 401 is for the client, whose signature, key or session it
 * refused, and not for the edge's own assertion. The edge removes it.
 */
export const credentialRefusedHeader = 'x-gatehouse-signature-refused';
