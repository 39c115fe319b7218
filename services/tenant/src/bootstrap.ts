import { parseArgs } from 'node:util';
import { auditEntryOf } from '@gatehouse/audited-changes/audit-entry';
import { scopesOf } from '@gatehouse/contract/scopes';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { createLogger } from '@gatehouse/kit/log';
import { assertMigrated } from '@gatehouse/pg/schema-check';
import { createPool, withTransaction } from '@gatehouse/pg/pool';
import { bySystem } from './by-system.ts';
import { loadBootstrapConfig, migrations } from './config.ts';
import { newApiKey } from './keys/api-key.ts';
import { keyCreated } from './keys/key-views.ts';
import { insertFirstOwnerKey } from './keys/api-key-system-store.ts';
import { changeRecorder } from './audit/change-store.ts';

/**
 * The bootstrap command: creates the platform's first owner key and prints its text as the only line on standard
 * output. The text is never shown again. `--force` creates a key although another one exists, in case the other one was
 * lost.
 */
async function bootstrap(): Promise<void> {
  const { values } = parseArgs({ options: { force: { type: 'boolean', default: false } } });
  const config = loadBootstrapConfig(process.env);
  const { DATABASE_URL: url } = config;
  const pool = createPool({ url, role: 'tenant_system', max: 1, log: createLogger('tenant', 'silent') });
  try {
    await assertMigrated(pool, 'tenant', migrations);
    const { text, key: newKey } = newApiKey({
      ...{ tenantId: null, name: 'First owner key', createdBy: 'bootstrap' },
      ...{ role: 'owner' as const, scopes: scopesOf('owner') },
    });
    const key = await withTransaction(pool, async (db) => {
      const inserted = await insertFirstOwnerKey(db, newKey, values);
      const record = changeRecorder(config, new AuditOutbox('tenant'));
      if (inserted !== null) await record(db, auditEntryOf(keyCreated(inserted), bySystem));
      return inserted;
    });
    if (key === null)
      throw new Error('An active owner key exists already; use --force to create another one if it is lost.');
    process.stdout.write(`${text}\n`);
  } finally {
    await pool.end();
  }
}

await bootstrap().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
});
