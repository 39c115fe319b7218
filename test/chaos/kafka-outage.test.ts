import { afterAll, describe, it } from '@jest/globals';
import { withoutKafka } from '@gatehouse/test/kafka';
import { UsageSystem } from './usage-system.ts';

let system: UsageSystem | undefined;
afterAll(async () => system?.stop(), 60_000);

const noKafka = await withoutKafka();
const itWithKafka = noKafka === undefined ? it : it.skip;

describe('Kafka paused for 10 s', () => {
  itWithKafka(
    `loses no run and delays no tenant after it${noKafka === undefined ? '' : ` (skipped: ${noKafka})`}`,
    async () => {
      const started = await UsageSystem.start({ KAFKA: '1' });
      system = started;
      const messages = [{ role: 'user', content: 'What happens when things break? '.repeat(20) }];
      await started.chaos.explain(() =>
        started.expectNothingLostWhilePaused('kafka', { fields: { messages } }),
      );
    },
    120_000,
  );
});
