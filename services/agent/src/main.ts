import { run } from '@gatehouse/kit/lifecycle';
import { loadConfig } from './config.ts';
import { createAgentService } from './service.ts';

await run(() => createAgentService(loadConfig(process.env)));
