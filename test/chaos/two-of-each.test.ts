import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChannelPeople, ChannelProviders, untilRunsEnded, type People } from './channel-people.ts';
import { ChaosSystem, fewConnections } from './chaos-system.ts';
import { hungPostgres } from './hung-postgres.ts';
import { killSome } from './killing.ts';
import { Random } from '@gatehouse/test/random';
import { standingReplica } from './standing-replica.ts';
import { WebhookDeliveries } from './webhook-deliveries.ts';

/**
 * Two replicas of webhook and of chat: PostgreSQL hangs under all, a replica of chat hangs, then senders and people
 * write while nothing and while everything is killed.
 */

const messages = Number(process.env['CHAOS_MESSAGES'] ?? 250);
/** The provider takes so long, so that each kill meets turns and calls under way. */
const answerMs = 1_500;
const kills = 6;

let chaos: ChaosSystem;
let providers: ChannelProviders;
let people: ChannelPeople;
let webhooks: WebhookDeliveries;

beforeAll(async () => {
  providers = await ChannelProviders.start();
  chaos = await ChaosSystem.start({
    ...{ GATEHOUSE_REPLICAS: 'webhook=2,chat=2', EGRESS_ALLOW: '127.0.0.1', LOG_LEVEL: 'error' },
    ...fewConnections,
    ...providers.settings,
  });
  people = await ChannelPeople.prepare(chaos, providers, new Random(18));
  webhooks = await WebhookDeliveries.prepare(chaos);
});
afterAll(async () => {
  await chaos.stop();
  await webhooks.stop();
  await providers.stop();
});

hungPostgres(() => chaos);
standingReplica(() => chaos);

describe('people who write by channels of all types, with repeats, out of order, and providers that limit and fail', () => {
  it(
    'are answered exactly once when nothing is killed',
    () =>
      chaos.explain(async () => {
        const some: People = [100, 112];
        people.trouble(0.2);
        const all = await people.write(some, 8, 300);
        await people.untilAnswered();
        people.expectOrder(all, some);
        await people.expectRuns(all);
        expect(people.heard(some)).toHaveLength(people.repliesTo(some).length);
      }),
    240_000,
  );
});

describe('kill -9 of webhook and chat, two replicas each, while people write, and senders deliver with repeats out of order', () => {
  it(
    'leaves one completed run of each message, in order, and of each delivery, whose result is delivered',
    () =>
      chaos.explain(async () => {
        const some: People = [1, 26];
        people.trouble(0.08);
        chaos.simulator.setFault({ delay_ms: answerMs });
        const random = new Random(17);
        const state = { over: false };
        const names = ['webhook-1', 'webhook-2', 'chat-1', 'chat-2'];
        const killing = killSome(chaos, { random, state, kills, names });
        const [all] = await Promise.all([
          people.write(some, messages / (some[1] - some[0]), 3_600),
          webhooks.send(random),
        ]);
        state.over = true;
        expect(await killing).toBeGreaterThanOrEqual(3);
        await webhooks.expectResults();
        await people.untilAnswered();
        expect(all).toHaveLength(messages);
        people.expectOrder(all, some);
        await people.expectRuns(all);
        await untilRunsEnded(chaos);
        await webhooks.expectRuns();
      }),
    600_000,
  );
});
