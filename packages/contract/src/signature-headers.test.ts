import { expect, it } from '@jest/globals';
import { isSignatureHeader } from './signature-headers.ts';

it.each([
  'x-signature',
  'x-shopify-hmac-sha256',
  'linear-signature',
  'typeform-signature',
  'x-redmine-signature-256',
  'x-gitea-signature',
  'x-request-signature-sha-256',
  'viasat-signature',
  'b3-signature',
])('takes signatures of senders: %s', (name) => {
  expect(isSignatureHeader(name)).toBe(true);
});

it.each([
  ...['x-envoy-upstream-rq-timeout-ms', 'x-envoy-retry-on', 'x-envoy-external-address', 'x-istio-attributes'],
  ...['l5d-dst-override', 'l5d-ctx-trace', 'grpc-timeout', 'dapr-app-id'],
  ...[
    'x-amzn-trace-id',
    'x-amzn-oidc-data',
    'x-amz-cf-id',
    'x-cloud-trace-context',
    'x-goog-iap-jwt-assertion',
  ],
  ...['b3', 'x-b3-traceid', 'x-b3-sampled', 'traceparent', 'tracestate', 'baggage', 'uber-trace-id'],
  ...['x-ot-span-context', 'x-datadog-trace-id', 'x-request-id', 'x-request-start', 'x-client-trace-id'],
  ...['via', 'forwarded', 'x-forwarded', 'x-forwarded-for', 'x-real-ip', 'x-client-ip', 'x-client-cert'],
  ...['true-client-ip', 'cf-connecting-ip', 'x-cluster-client-ip', 'client-cert', 'x-original-url'],
  ...['x-rewrite-url', 'x-http-method-override', 'x-auth-request-email', 'x-remote-user', 'x-host'],
  ...['authorization', 'cookie', 'host', 'content-type', 'x-gatehouse-assertion', 'x-webhook-endpoint'],
])('takes no header that a proxy, a mesh or the gateway obeys: %s', (name) => {
  expect(isSignatureHeader(name)).toBe(false);
});
