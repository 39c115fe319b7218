/**
 * The headers of a Standard Webhook. Svix sends them by other names:
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
 * be the header of the scheme `hmac`. Proxies and meshes between edge and webhook obey theirs: retries, time-outs and
 * routes (https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/router_filter), the address of a
 * client, and traces (https://istio.io/latest/docs/tasks/observability/distributed-tracing/overview/).
 */
const reserved = new RegExp(
  `^(?:${[
    'connection|expect|host|http2-settings|keep-alive|max-forwards|te|trailer|transfer-encoding|upgrade|via',
    'api-key|authorization|client-cert.*|cookie|set-cookie|x-api-key|proxy-.*|x-proxy-.*|x-auth-request-.*',
    'x-gatehouse-.*|x-service-user-id|gatehouse-hops|x-webhook-endpoint|idempotency-key',
    'forwarded|x-forwarded.*|x-original-.*|x-rewrite-.*|x-http-method.*|x-method-override|x-cluster-client-ip',
    'x-envoy-.*|x-istio-.*|l5d-.*|grpc-.*|dapr-.*|x-amzn-.*|x-amz-.*|x-goog-.*|x-azure-.*|x-arr-.*|x-appengine-.*',
    'true-client-ip|cf-.*|cdn-loop|fastly-.*|x-accel-.*|x-host|x-scheme|x-remote-.*|x-ssl-.*|early-data',
    'b3|x-b3-.*|baggage|traceparent|tracestate|uber-trace-id|uberctx-.*|x-cloud-trace-.*|x-datadog-.*|x-ot-.*',
    // Some senders name the header of their signature `X-Request-Signature-…`.
    '(?:x-client|x-real|x-request)-(?!signature|hmac).*',
    'accept.*|cache-control|content-.*|date|if-.*|origin|pragma|priority|range|referer|sec-.*|user-agent',
  ].join('|')})$`,
);

/** Whether a header, by its lower-case name, may have the signature of the scheme `hmac`. */
export function isSignatureHeader(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,63}$/.test(name) && !reserved.test(name);
}
