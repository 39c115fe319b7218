interface Estimate {
  files: RegExp;
  seconds: number;
  system: boolean;
}

/**
 * Seconds that a test file takes on two cores, where Jest has not measured it, as in a new clone. Systems: tests of
 * whole ones.
 */
const estimates: readonly Estimate[] = [
  { files: /\/test\/together\/gateway/, seconds: 110, system: true },
  { files: /\/test\/together\//, seconds: 110, system: false },
  { files: /\/chaos\/(one|two)-of-each\./, seconds: 200, system: true },
  { files: /\/chaos\/(conversations|ledger|transfers)\./, seconds: 140, system: true },
  { files: /\/test\/(chaos|hostile)\//, seconds: 60, system: true },
  {
    files: /\/test\/e2e\/(transfer-moves|signals|own-key-canaries|up|operations)\./,
    seconds: 60,
    system: true,
  },
  { files: /\/e2e\/one-gateway\./, seconds: 120, system: true },
  { files: /\/test\/e2e\//, seconds: 20, system: true },
  { files: /\/test\/conformance\//, seconds: 15, system: true },
  {
    files: /\/test\/(large-bodies|largest-bodies|one-tenants-answer|proxies-bodies)\.|\/worst-answers\./,
    seconds: 60,
    system: false,
  },
  { files: /\/webhook\/test\/(channel|moved|zalo\.)/, seconds: 28, system: false },
  {
    files:
      /\/daily-rollups\.|\/tenant\/test\/(timezones|token-revocations|transfers)\.|\/(key-pools|deployments)\./,
    seconds: 28,
    system: false,
  },
  {
    files: /\/kafka\.|\/splitter\.|\/many-scopes\.|\/body-room\.|\/proxies|\/import/,
    seconds: 35,
    system: false,
  },
  { files: /\/webhook\/test\//, seconds: 15, system: false },
  { files: /\/test\/(support|statements|changed)\//, seconds: 1.5, system: false },
  { files: /\/test\//, seconds: 8, system: false },
  { files: /\/worst-|\/outbox-relay\.|\/replica-stops\.|\/sandbox\./, seconds: 25, system: false },
];
const small: Estimate = { files: /\//, seconds: 1.5, system: false };

/** By the absolute path of a test file. */
export function estimateOf(file: string): Estimate {
  return estimates.find(({ files }) => files.test(file)) ?? small;
}
