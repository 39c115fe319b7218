import { afterAll, beforeAll } from '@jest/globals';
import { EndlessProvider } from './endless-provider.ts';
import { hostileClients } from './hostile-clients.ts';
import { killedAgent } from './killed-agent.ts';
import { killedBatch } from './killed-batch.ts';
import { killedChat } from './killed-chat.ts';
import { killedTenant } from './killed-tenant.ts';
import { largestAnswers } from './largest-answers.ts';
import { pausedAnalytics } from './paused-analytics.ts';
import { UsageSystem } from './usage-system.ts';

/*
 * One process of each service. Faults come one after the other; each audit counts the runs of all before it as well.
 * Memory is a matter of its highest so far, so the tests that bound it come while few have used it.
 */

let system: UsageSystem;
let provider: EndlessProvider;
beforeAll(async () => {
  provider = await EndlessProvider.start();
  // The clients of the test share its process, which gets no time for seconds on a busy machine.
  system = await UsageSystem.start({
    ...{ OPENAI_BASE_URL: provider.baseUrl, UNREAD_TIMEOUT_MS: '10000', EGRESS_ALLOW: '127.0.0.1' },
  });
  provider.others = system.chaos.simulator.baseUrl;
});
afterAll(async () => {
  await system.stop();
  provider.stop();
}, 60_000);

largestAnswers(() => system);
hostileClients(
  () => system.chaos,
  () => provider,
);
killedTenant(() => system.chaos);
killedAgent(() => system.chaos);
killedChat(() => system.chaos);
killedBatch(() => system.chaos);
pausedAnalytics(() => system);
