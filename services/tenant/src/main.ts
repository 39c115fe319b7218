import { run } from '@gatehouse/kit/lifecycle';
import { loadConfig } from './config.ts';
import { createTenantService } from './service.ts';

await run(() => createTenantService(loadConfig(process.env)));
