import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { DialectName } from '@gatehouse/contract/dialects';
import { capabilities } from './capabilities.ts';
import { effectOf, targets, type TargetName } from './capability-effect.ts';
import { begin, capabilityTable, end } from './capability-table.ts';

/** Everything that clients ask for reaches the model, is named as left out, or is refused by name. */

const clients: readonly DialectName[] = ['chat', 'responses', 'messages', 'gemini'];
const pairs = clients.flatMap((client) =>
  (Object.keys(targets) as TargetName[])
    .filter((target) => targets[target].api !== client)
    .map((target) => [client, target] as const),
);

describe('everything that a client asks for', () => {
  it.each(pairs)('of %s has an effect with a model of %s that the client sees', async (client, target) => {
    for (const capability of capabilities)
      if (capability.asked[client] !== undefined)
        expect(['yes', 'left out', '400']).toContain(await effectOf(client, target, capability));
  });

  it('is found lost if it were', async () => {
    const lost = { asked: { chat: {} }, sign: /nowhere/ };
    await expect(effectOf('chat', 'messages', lost)).rejects.toThrow('it is lost');
  });

  it('is in the table of the page', async () => {
    const page = readFileSync(path.join(import.meta.dirname, '../../../docs/tenants/dialects.md'), 'utf8');
    const shown = page.split(begin)[1]?.split(end)[0];
    expect(shown?.trim()).toBe(await capabilityTable());
  });
});
