import { run } from '@gatehouse/kit/lifecycle';
import { loadConfig } from './config.ts';
import { createEdgeService } from './service.ts';

await run(() => createEdgeService(loadConfig(process.env)));
