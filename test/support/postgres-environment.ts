/** Data that `global-setup.ts` passes to workers in an environment variable. */
export interface TestPostgres {
  host: string;
  port: number;
  superuser: { name: string; password: string };
  /** One password for the login roles of all services. */
  loginPassword: string;
  /** Services whose migrated template database exists. */
  services: string[];
}

const variable = 'GATEHOUSE_TEST_POSTGRES';

export function publishTestPostgres(server: TestPostgres): void {
  process.env[variable] = JSON.stringify(server);
}

export function testPostgres(): TestPostgres {
  const text = process.env[variable];
  if (text === undefined)
    throw new Error(`${variable} is not set: run the tests through jest.config.js, which starts PostgreSQL`);
  return JSON.parse(text) as TestPostgres;
}

export function templateName(service: string): string {
  return `template_${service}`;
}

export function loginName(service: string): string {
  return `${service}_login`;
}

export function superuserUrl(server: TestPostgres, database: string): string {
  return urlOf(server, server.superuser.name, server.superuser.password, database);
}

/** Ten times the time that a service has, because the cores of a test machine may be busy for seconds. */
const patience = new URLSearchParams({
  connect_timeout: '20',
  options: '-c idle_in_transaction_session_timeout=10s',
});

export function loginUrl(server: TestPostgres, service: string, database: string): string {
  return `${urlOf(server, loginName(service), server.loginPassword, database)}?${patience.toString()}`;
}

function urlOf(
  server: Pick<TestPostgres, 'host' | 'port'>,
  ...[user, password, database]: [string, string, string]
): string {
  return `postgres://${user}:${password}@${server.host}:${server.port}/${database}`;
}
