import { run } from '@gatehouse/kit/lifecycle';
import { loadConfig } from './config.ts';
import { createChatService } from './service.ts';

await run(async () => createChatService(await loadConfig(process.env)));
