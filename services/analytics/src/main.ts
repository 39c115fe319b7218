import { run } from '@gatehouse/kit/lifecycle';
import { loadConfig } from './config.ts';
import { createAnalyticsService } from './service.ts';

await run(() => createAnalyticsService(loadConfig(process.env)));
