import { createLogger } from '@gatehouse/kit/log';
import { newRandomToken, tokenSha256 } from '@gatehouse/kit/random-token';
import { assertMigrated } from '@gatehouse/pg/migrate';
import { createPool } from '@gatehouse/pg/pool';
import { loadLoginLinkConfig, migrations } from './config.ts';
import { insertLoginTicket } from './sessions/login-ticket-system-store.ts';

/**
 * The login link command: prints the path of a link that logs a browser in once, within a minute, with the key whose
 * text begins with the argument (`gwk_<id>`). Only an operator with the database can make one: a link of another person
 * would log a browser in as that person.
 */
async function makeLoginLink(prefix: string): Promise<void> {
  const { DATABASE_URL: url } = loadLoginLinkConfig(process.env);
  const pool = createPool({ url, role: 'tenant_system', max: 1, log: createLogger('tenant', 'silent') });
  try {
    await assertMigrated(pool, 'tenant', migrations);
    const ticket = newRandomToken();
    if (!(await insertLoginTicket(pool, tokenSha256(ticket), prefix.replace(/^gwk_/, ''))))
      throw new Error('There is no active key that begins so.');
    process.stdout.write(`/login/link?ticket=${ticket}\n`);
  } finally {
    await pool.end();
  }
}

await makeLoginLink(process.argv[2] ?? '').catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
});
