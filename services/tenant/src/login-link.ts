import { auditEntryOf } from '@gatehouse/audited-changes/audit-entry';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { createLogger } from '@gatehouse/kit/log';
import { newRandomToken, tokenSha256 } from '@gatehouse/kit/random-token';
import { assertMigrated } from '@gatehouse/pg/schema-check';
import { createPool, withTransaction } from '@gatehouse/pg/pool';
import { changeRecorder } from './audit/change-store.ts';
import { bySystem } from './by-system.ts';
import { loadBootstrapConfig, migrations } from './config.ts';
import { findKeyOfLink, insertLoginTicket, linkCreated } from './sessions/login-ticket-system-store.ts';

/**
 * The login link command: prints the path of a link. The link logs a browser in once, within a minute, with the key
 * whose text begins with the argument (`gwk_<id>`). Only an operator with the database can make one: a link of another
 * person would log a browser in as that person.
 */
async function makeLoginLink(prefix: string): Promise<void> {
  const config = loadBootstrapConfig(process.env);
  const { DATABASE_URL: url } = config;
  const pool = createPool({ url, role: 'tenant_system', max: 1, log: createLogger('tenant', 'silent') });
  try {
    await assertMigrated(pool, 'tenant', migrations);
    const ticket = newRandomToken();
    const keyId = prefix.replace(/^gwk_/, '');
    const record = changeRecorder(config, new AuditOutbox('tenant'));
    await withTransaction(pool, async (db) => {
      const key = await findKeyOfLink(db, keyId);
      if (key === null || !(await insertLoginTicket(db, tokenSha256(ticket), keyId)))
        throw new Error('There is no active key that begins so.');
      await record(db, auditEntryOf(linkCreated(key), bySystem));
    });
    process.stdout.write(`/login/link?ticket=${ticket}\n`);
  } finally {
    await pool.end();
  }
}

await makeLoginLink(process.argv[2] ?? '').catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
});
