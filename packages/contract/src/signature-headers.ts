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
