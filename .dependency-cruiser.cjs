const { globSync } = require('node:fs');
const { basename, dirname } = require('node:path');

/** Allowed imports between folders (ADR 26). Each heavy library has one importing package. */
const only = (library, owners, comment) => ({
  name: `only-${library.replace(/[^a-z]/g, '-')}-owner`,
  comment,
  severity: 'error',
  from: { pathNot: owners },
  to: { path: `(^|/)node_modules/(@types/)?${library}/` },
});

const tests = '(\\.test\\.ts$|/test/|^test/)';

/** The rooms of services, from the lowest: a room imports those before it. */
const rooms = {
  edge: ['shared', 'dialects', 'auth', 'relay', 'cors', 'replicas', 'proxy', 'documents', 'refusals', 'http'],
  chat: [
    ...['policies', 'shared', 'catalogue', 'runs', 'limits', 'alerts', 'providers'],
    ...[
      'recording',
      'stops',
      'memory',
      'stored-responses',
      'run-content',
      'reasoning',
      'tools',
      'guardrails',
      'turns',
      'completions',
    ],
    'batches',
  ],
  tenant: [
    ...['shared', 'limits', 'keys', 'users', 'issuers', 'sessions', 'device-logins', 'provider-keys'],
    ...['policies', 'guardrails', 'tenants', 'scim'],
    ...['audit', 'deletions', 'transfers', 'system'],
  ],
  analytics: [
    'shared',
    'preview',
    'usage',
    'traces',
    'rollups',
    'daily-rollups',
    'retention',
    'forgetting',
    'ingest',
  ],
  agent: [
    'shared',
    'secrets',
    'agents',
    'cookies',
    'mcp',
    'logins',
    'servers',
    'consents',
    'web',
    'tools',
    'toolsets',
    'transfers',
    'forgetting',
  ],
  webhook: [
    ...['shared', 'signatures', 'secrets', 'clients', 'deliveries', 'templates', 'endpoints', 'calls'],
    ...['subscriptions', 'channels', 'conversations', 'forgetting', 'transfers'],
  ],
};

/** The folders of APIs in packages/dialects. */
const apis = globSync('packages/dialects/src/*/request-writer.ts', { cwd: __dirname })
  .map((file) => basename(dirname(file)))
  .join('|');

/** Files that commit through stores before a request may go on, each by its name. */
const writers = '/(run-recorder|run-log|completion-cache)\\.ts$';

/** The end of a file's name says what the file may touch; other files are rules. */
const ends = `-(store|handlers|rpc|client|consumer|job)\\.ts$|/create-[^/]+$|${writers}`;

/**
 * The layers of a service that keeps them, from the lowest: rooms by feature would import upwards there. Its stores have
 * folders by feature, in an order as well; the first layers are rules.
 */
const layers = {
  memory: {
    rules: ['shared', 'search', 'documents', 'graph', 'moving'],
    others: [
      ...['scopes', 'search', 'documents', 'graph', 'forgetting', 'imports', 'transfers'].map(
        (feature) => `store/${feature}`,
      ),
      ...['clients', 'jobs', 'transfers', 'rpc', 'http', 'features'],
    ],
  },
};

const inOrder = (service, order) => {
  const src = `^services/${service}/src`;
  return [
    {
      name: `${service}-folder-without-place`,
      comment: 'a folder has a place in the order above',
      severity: 'error',
      from: { path: `${src}/(?!(${order.join('|')})/)[^/]+/` },
      to: {},
    },
    ...order.slice(0, -1).map((folder, index) => ({
      name: `${service}-${folder.replace('/', '-')}-looks-down`,
      comment: 'a folder imports those before it',
      severity: 'error',
      from: { path: `${src}/${folder}/`, pathNot: tests },
      to: { path: `${src}/(${order.slice(index + 1).join('|')})/` },
    })),
  ];
};

const libraries = 'node_modules/(pg|@grpc|kafkajs|express)/|^packages/(pg|grpc|http)/';

const roomRules = Object.entries(rooms).flatMap(([service, order]) => {
  const src = `^services/${service}/src`;
  return [
    ...inOrder(service, order),
    {
      name: `${service}-rules-are-pure`,
      comment: 'rules know neither database nor wire, nor what does',
      severity: 'error',
      from: { path: `${src}/[^/]+/`, pathNot: `${ends}|${src}/shared/|${tests}` },
      to: { path: `${libraries}|${src}/.*(${ends})` },
    },
    {
      name: `${service}-only-service-knows-creators`,
      severity: 'error',
      comment: 'and a creator those of its own room',
      from: { path: `${src}/([^/]+)/` },
      to: { path: `${src}/[^/]+/create-[^/]+$`, pathNot: `${src}/$1/` },
    },
  ];
});

const layerRules = Object.entries(layers).flatMap(([service, { rules, others }]) => [
  ...inOrder(service, [...rules, ...others]),
  {
    name: `${service}-rules-are-pure`,
    comment: 'rules know neither database nor wire; the order keeps them from what does',
    severity: 'error',
    from: { path: `^services/${service}/src/(${rules.join('|')})/`, pathNot: tests },
    to: { path: libraries },
  },
]);

/** Handlers of requests that belong to no tenant: an owner's, and those that begin or prove a session. */
const beyondTenants =
  '^services/tenant/src/(sessions|device-logins)/|/owner-[^/]+$|^services/tenant/src/audit/audit-log-handlers\\.ts$';

module.exports = {
  forbidden: [
    {
      name: 'handlers-use-no-system-store',
      comment:
        'requests of a tenant wait for connections in turns by tenant, apart from the work for all tenants',
      severity: 'error',
      from: { path: '^services/[^/]+/src/.*-handlers\\.ts$', pathNot: beyondTenants },
      to: { path: '-system-(pg-)?store\\.ts$' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'services-are-strangers',
      comment: 'services talk over gRPC and HTTP, never by import',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/([^/]+)/', pathNot: '^services/$1/' },
    },
    {
      name: 'packages-know-no-service',
      severity: 'error',
      from: { path: '^(packages|proto)/', pathNot: tests },
      to: { path: '^(services|deploy|test)/' },
    },
    {
      name: 'production-knows-no-test',
      comment: 'with the two rules above: no path of imports leads from a service to another one',
      severity: 'error',
      from: { path: '^(packages|services)/', pathNot: tests },
      to: { path: '^(test|deploy|lint|charts)/|^(packages|services)/[^/]+/test/|\\.test\\.ts$' },
    },
    {
      name: 'edge-uses-no-database',
      comment: 'the one process that the internet reaches has no way to the data',
      severity: 'error',
      from: { path: '^services/edge/src/main' },
      to: { path: '(^|/)node_modules/pg/|^packages/(pg|audited-changes|secrets)/', reachable: true },
    },
    {
      name: 'programs-run-without-jest',
      comment: 'plain Node runs the drills, the bench and the audit of statements, where @jest/globals fails',
      severity: 'error',
      from: { path: '^test/(cluster|bench|statements)/(run|audit)\\.ts$' },
      to: { path: '(^|/)node_modules/@jest/globals/', reachable: true },
    },
    ...roomRules,
    ...layerRules,
    {
      name: 'analytics-rooms-know-no-database',
      comment: 'a room uses the interfaces of its stores (ADR 103); service.ts chooses what is behind them',
      severity: 'error',
      from: {
        path: '^services/analytics/src/',
        pathNot: `(-|/)pg-store\\.ts$|^services/analytics/src/service\\.ts$|${tests}`,
      },
      to: {
        path: '^packages/pg/(?!src/settings\\.ts)|^packages/[^/]+/src/store/|node_modules/(@types/)?pg/|(-|/)pg-store\\.ts$',
      },
    },
    {
      name: 'webhook-one-place-knows-providers',
      comment:
        'a type of channel is an adapter, its lines in adapters.ts, and its consents in create-channels.ts',
      severity: 'error',
      from: {
        path: '^services/webhook/src/',
        pathNot: `^services/webhook/src/channels/(providers/|adapters\\.ts|create-channels\\.ts)|${tests}`,
      },
      to: { path: '^services/webhook/src/channels/providers/' },
    },
    {
      name: 'chat-only-providers-call-out',
      severity: 'error',
      from: { path: '^services/chat/src/', pathNot: `^services/chat/src/providers/|${tests}` },
      to: { path: 'node_modules/undici/' },
    },
    {
      name: 'dialects-one-door',
      comment: 'the three registries alone know the folders of APIs',
      severity: 'error',
      from: {
        pathNot: `^packages/dialects/src/(dialects\\.ts|client-surfaces\\.ts|translation/translation\\.ts|(${apis})/)|${tests}`,
      },
      to: { path: `^packages/dialects/src/(${apis})/` },
    },
    {
      name: 'dialects-frames-look-down',
      comment: 'frames and tokens know no API',
      severity: 'error',
      from: { path: '^packages/dialects/src/(wire|usage)/', pathNot: tests },
      to: { path: '^packages/dialects/src/(?!wire/|usage/|bounds)' },
    },
    {
      name: 'only-main-has-effects',
      comment: 'nothing imports an entry file',
      severity: 'error',
      from: {},
      to: { path: '^services/[^/]+/src/(main|migrate|bootstrap|login-link|models-check|prices-diff)\\.ts$' },
    },
    only('pg', `^(packages/pg|deploy/local|test)/|${tests}`, 'SQL goes through packages/pg'),
    only(
      '@grpc/grpc-js',
      `^(packages/grpc|proto/gen)/|node_modules|${tests}`,
      'gRPC goes through packages/grpc',
    ),
    only(
      'express',
      `^(packages/http|services/edge|test/bench)/|node_modules|${tests}`,
      'HTTP goes through packages/http',
    ),
    only(
      'http-proxy-middleware',
      `^(services/edge/src/proxy|test/bench)/|node_modules|${tests}`,
      'requests are forwarded by proxy/ of the edge',
    ),
    only('kafkajs', `^(packages/events)/|node_modules|${tests}`, 'events go through packages/events'),
    {
      name: 'kafkajs-loads-with-its-first-client',
      comment: 'processes without Kafka start without its 143 files',
      severity: 'error',
      from: { path: '^packages/', pathNot: tests },
      to: { path: 'node_modules/kafkajs/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    only('pg-boss', `^(packages/jobs)/|node_modules|${tests}`, 'background jobs go through packages/jobs'),
    only(
      'jose',
      `^(packages/identity|services/tenant/src/issuers)/|node_modules|${tests}`,
      'tokens go through packages/identity, and those of issuers through issuers/',
    ),
    only(
      'openid-client',
      `^(services/tenant/src/issuers)/|node_modules|${tests}`,
      'the tenant service calls issuers in issuers/',
    ),
    only('pino', `^(packages/kit)/|node_modules|${tests}`, 'logging goes through packages/kit'),
    only('prom-client', `^(packages/kit)/|node_modules|${tests}`, 'metrics go through packages/kit'),
    only(
      '@opentelemetry/[^/]+',
      `^(packages/kit)/|node_modules|${tests}`,
      'traces are exported by packages/kit alone',
    ),
    only(
      'undici',
      `^(packages/egress|services/edge/src/proxy|services/chat/src/providers)/|node_modules|${tests}`,
      'addresses that tenants give are called through packages/egress, which paces the connections of providers too',
    ),
    only(
      '@modelcontextprotocol/client',
      `^(services/agent/src/mcp)/|node_modules|${tests}`,
      'the agent service speaks MCP in mcp/',
    ),
    only(
      '@smithy/eventstream-codec',
      `^(packages/dialects/src/wire)/|node_modules|${tests}`,
      'frames of AWS are decoded in wire/ of packages/dialects',
    ),
    only('ipaddr.js', `^(packages/egress)/|node_modules|${tests}`, 'packages/egress decides what is public'),
    only(
      'liquidjs',
      `^(services/webhook/src/templates)/|node_modules|${tests}`,
      'templates are rendered in a sandbox',
    ),
    ...['@aws-sdk', '@smithy/signature-v4', 'google-auth-library'].map((library) =>
      only(
        library,
        `^(services/chat/src/providers/credentials)/|node_modules|${tests}`,
        'credentials of providers are had in credentials/',
      ),
    ),
    {
      name: 'web-runs-in-browsers',
      comment:
        'pages take types and constants of the contract, not its shapes, and code that needs nothing of Node',
      severity: 'error',
      from: { path: '^packages/web/src/', pathNot: tests },
      to: {
        path: 'node_modules/zod/|^packages/(?!web/|contract/src/scopes\\.ts|kit/src/(csv|bounds)\\.ts)',
        dependencyTypesNot: ['type-only'],
      },
    },
    only('preact', `^packages/web/src/|node_modules|${tests}`, 'pages are made in packages/web'),
    ...['libphonenumber-js', 'ibantools', 'tldts', 're2js'].map((library) =>
      only(
        library,
        `^packages/guardrails/|node_modules|${tests}`,
        'texts are checked in packages/guardrails',
      ),
    ),
    only('lru-cache', `^(packages/(kit|identity))/|node_modules|${tests}`, 'caches are made in packages'),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^proto/gen/google' },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.d.ts'],
    },
  },
};
