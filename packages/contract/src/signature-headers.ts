/**
 * The headers of a Standard Webhook, which Svix sends under names of its own:
 * https://docs.svix.com/receiving/verifying-payloads/how-manual
 */
export const standardSignatureHeaders = [
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'svix-id',
  'svix-timestamp',
  'svix-signature',
] as const;

/**
 * Names that are for the connection, the gateway, credentials or the body, and never for a signature: everything else may
 * be the header of the scheme `hmac`.
 */
const reserved = new RegExp(
  `^(?:${[
    'connection|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|via|proxy-.*',
    'api-key|authorization|cookie|set-cookie|x-api-key|x-goog-api-key',
    'forwarded|x-forwarded-.*|x-real-ip|x-gatehouse-.*|x-service-user-id|gatehouse-hops|x-webhook-endpoint',
    'baggage|idempotency-key|traceparent|tracestate|x-request-id',
    'accept.*|content-.*|date|if-.*|origin|range|referer|sec-.*|user-agent',
  ].join('|')})$`,
);

/** Whether a header, by its lower-case name, may have the signature of the scheme `hmac`. */
export function isSignatureHeader(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,63}$/.test(name) && !reserved.test(name);
}
