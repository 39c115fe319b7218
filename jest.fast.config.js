import everything from './jest.config.js';

/** Tests that wait for real time, start Kafka or processes, or move megabytes: the slowest third, by time. */
const slow = [
  'deploy/(local/(kafka|postgres)|setup/test/setup)',
  'packages/events/src/(kafka|outbox-relay)',
  'packages/grpc/src/rotation',
  'packages/http/src/server',
  'packages/kit/src/create-tracer',
  'packages/pg/src/(migrate|patient-client)',
  'services/chat/src/providers/response-handler',
  'services/edge/src/relay/relay-path',
  'services/[^/]+/test/.*(bodies|drain|early-answer|fencing|large-lists|outage|partitions|replicas|retention|timezones)',
  'services/agent/test/(commands|patch|start|visibility)',
  'services/analytics/test/(counting|slow-summaries)',
  'services/chat/test/(events|metering|settlements)',
  'services/edge/test/relay',
  'services/tenant/test/(budget-windows|commands|limited-keys|many-api-keys|leases)',
];

/** `make test-fast`: unit tests and tests of one service, without the slow ones, whole systems and chaos. */
export default {
  ...everything,
  testPathIgnorePatterns: [
    ...everything.testPathIgnorePatterns,
    '<rootDir>/test/',
    ...slow.map((path) => `<rootDir>/${path}\\.test\\.ts$`),
  ],
  setupFiles: [],
  maxWorkers: '100%',
};
