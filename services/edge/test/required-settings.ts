const addresses = [
  ...['TENANT_GRPC', 'ANALYTICS_GRPC', 'TENANT_HTTP', 'AGENT_HTTP', 'CHAT_HTTP', 'ANALYTICS_HTTP'],
  ...['MEMORY_HTTP', 'WEBHOOK_HTTP'],
];

/** The settings without a default, which no test calls. */
export const requiredSettings = {
  ...Object.fromEntries(addresses.map((name) => [name, 'a:1'])),
  ASSERTION_PRIVATE_KEY: 'x',
  ASSERTION_PUBLIC_KEYS: 'x',
};
