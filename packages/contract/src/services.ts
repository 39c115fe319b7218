/** Topics of events, without KAFKA_PREFIX. */
export const topics = {
  usage: 'gatehouse.usage.v1',
  audit: 'gatehouse.audit.v1',
  alerts: 'gatehouse.alerts.v1',
  deletions: 'gatehouse.deletions.v1',
  receipts: 'gatehouse.receipts.v1',
} as const;
export type Topic = (typeof topics)[keyof typeof topics];

/** Properties of a service for deployments, the chart and the edge. */
interface ServiceFacts {
  /** Has a schema with migrations, and the login role `<name>_login`. */
  database?: true;
  /** Has background jobs: the schema `<name>_jobs` beside its own. */
  jobs?: true;
  /** Serves gRPC. */
  grpc?: true;
  /** Topics of its published events. */
  publishes?: readonly Topic[];
  /** Topics of events sent to their consumers directly, with Kafka too. */
  sends?: readonly Topic[];
  /** Topics of consumed events, from Kafka or from the publishing services. */
  consumes?: readonly Topic[];
  /** Encrypts secrets of tenants: gets `SECRETS_KEYRING`. */
  keyRing?: true;
  /** Calls addresses given by tenants: gets `EGRESS_ALLOW`. */
  egress?: true;
  /** Logs people in: gets the file of OpenID Connect issuers, and with issuers in it `EGRESS_ALLOW`. */
  issuers?: true;
  /** Calls providers: gets the model catalogue and API keys of providers. */
  models?: true;
  /** The public service: clients reach it, and it calls all other services over HTTP. */
  public?: true;
  /** Services called over gRPC. */
  calls: readonly string[];
}

const facts = {
  tenant: {
    database: true,
    jobs: true,
    grpc: true,
    publishes: [topics.audit, topics.alerts, topics.deletions],
    consumes: [topics.audit, topics.receipts],
    keyRing: true,
    issuers: true,
    calls: ['agent', 'analytics', 'chat', 'memory', 'webhook'],
  },
  agent: {
    database: true,
    jobs: true,
    grpc: true,
    publishes: [topics.audit, topics.alerts, topics.deletions, topics.receipts],
    consumes: [topics.deletions],
    keyRing: true,
    egress: true,
    calls: ['chat', 'memory', 'tenant', 'webhook'],
  },
  analytics: {
    database: true,
    grpc: true,
    publishes: [topics.receipts],
    consumes: [topics.usage, topics.deletions],
    calls: ['agent', 'tenant'],
  },
  memory: {
    database: true,
    jobs: true,
    grpc: true,
    publishes: [topics.audit, topics.receipts],
    consumes: [topics.deletions],
    keyRing: true,
    calls: ['agent', 'chat', 'tenant'],
  },
  chat: {
    database: true,
    grpc: true,
    publishes: [topics.usage, topics.audit, topics.alerts, topics.receipts],
    consumes: [topics.deletions],
    keyRing: true,
    models: true,
    egress: true,
    calls: ['agent', 'analytics', 'memory', 'tenant', 'webhook'],
  },
  webhook: {
    database: true,
    jobs: true,
    grpc: true,
    publishes: [topics.audit, topics.receipts],
    consumes: [topics.alerts, topics.deletions],
    keyRing: true,
    egress: true,
    calls: ['agent', 'chat', 'tenant'],
  },
  edge: { public: true, sends: [topics.usage], calls: ['analytics', 'tenant'] },
} as const satisfies Record<string, ServiceFacts>;

export type ServiceName = keyof typeof facts;

/** The services behind the edge. */
export type InnerServiceName = Exclude<ServiceName, 'edge'>;

export interface ServiceEntry extends ServiceFacts {
  name: ServiceName;
  /** Publishes or consumes events: gets `KAFKA_*`. */
  kafka?: true;
}

/**
 * All services, in the order of their start; they stop in reverse. `make up`, the upstreams of the edge and the chart
 * use this list. To add a service, create its folder in `services/` and add it here.
 */
export const services: readonly ServiceEntry[] = Object.entries<ServiceFacts>(facts).map(([name, fact]) => ({
  name: name as ServiceName,
  ...fact,
  ...((fact.publishes ?? fact.consumes) !== undefined && { kafka: true }),
}));

/** Services sending events of a topic to another one, its consumer. */
export function publishersOf(topic: Topic, consumer: ServiceName): ServiceName[] {
  return services
    .filter(
      ({ name, publishes = [], sends = [] }) => name !== consumer && [...publishes, ...sends].includes(topic),
    )
    .map(({ name }) => name);
}

/** Services sending events to this one. */
export function sendersTo(consumer: ServiceName): ServiceName[] {
  const { consumes = [] } = facts[consumer] as ServiceFacts;
  const senders = consumes.flatMap((topic) => publishersOf(topic, consumer));
  return services.map(({ name }) => name).filter((name) => senders.includes(name));
}

/** Services to which the edge forwards requests. */
export const innerServices = services
  .filter((service) => service.public === undefined)
  .map(({ name }) => name as InnerServiceName);
