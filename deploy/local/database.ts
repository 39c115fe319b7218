/** The database of all services: each has its own schema and login role in it. */
export const localDatabase = 'gatehouse';

export interface DatabaseOptions {
  adminUrl: (database: string) => string;
  /** Passwords of the login roles, by service. */
  passwords: Readonly<Record<string, string>>;
}

/** The `DATABASE_URL` of a service. */
export function serviceUrl(options: DatabaseOptions, service: string): string {
  const url = new URL(options.adminUrl(localDatabase));
  url.username = `${service}_login`;
  url.password = options.passwords[service] ?? '';
  return url.href;
}
