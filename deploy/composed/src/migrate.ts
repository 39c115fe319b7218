import { migrations as agent } from '@gatehouse/service-agent/config';
import { migrations as analytics } from '@gatehouse/service-analytics/config';
import { migrations as chat } from '@gatehouse/service-chat/config';
import { migrations as memory } from '@gatehouse/service-memory/config';
import { migrations as tenant } from '@gatehouse/service-tenant/config';
import { migrations as webhook } from '@gatehouse/service-webhook/config';
import type { ServiceName } from '@gatehouse/contract/services';
import { runCommand } from '@gatehouse/kit/command';
import { migrateServiceCommand } from '@gatehouse/shell/migrate';
import { environmentOf } from './environment.ts';

const folders: Readonly<Record<Exclude<ServiceName, 'edge'>, string>> = {
  tenant,
  agent,
  analytics,
  memory,
  chat,
  webhook,
};

/**
 * The migration step of all services: their schemas, logins and topics, one after another. It is safe to repeat, and to
 * run twice at once.
 */
await runCommand(async () => {
  for (const [name, folder] of Object.entries(folders) as [ServiceName, string][]) {
    await migrateServiceCommand(name, folder, environmentOf(name, [], process.env));
    process.stdout.write(`migrated ${name}\n`);
  }
});
