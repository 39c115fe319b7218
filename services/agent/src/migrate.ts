import { auditTopic } from '@gatehouse/events/audit-event';
import { migrateTopic } from '@gatehouse/events/migrate-command';
import { migrateCommand } from '@gatehouse/pg/migrate-command';
import { migrationsDirectory } from './config.ts';

await migrateCommand('agent', migrationsDirectory, process.env);
await migrateTopic('agent', auditTopic, process.env);
