import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { Random } from '@gatehouse/test/random';
import { rawKinds, sdkKinds } from './clients.ts';
import { chargedByGateway, chargedByProvider } from './ledger.ts';
import { apis, coveringWalks, pairsIn, placeWalks, type Walk } from './plan.ts';
import { nameOf, play, type Conversation, type Stage } from './play.ts';
import { openTheatre, type Theatre } from './stage.ts';
import { firstStrange } from './turns.ts';

/** Conversations that change model and API at every turn, beside providers as strict as their public rules. */

const full = process.env['HOSTILE'] === 'full';
const { CONVERSATION: chosen } = process.env;
const [chosenSeed = 1, chosenWalk] = (chosen ?? '').split(':').filter(Boolean).map(Number);
const seeds =
  full && chosen === undefined ? Array.from({ length: 10 }, (_, index) => index + 1) : [chosenSeed];

function walksOf(seed: number): Walk[] {
  const random = new Random(seed);
  const walks = coveringWalks(random, 4);
  return full ? [...walks, ...placeWalks(random)] : walks;
}

/** SDKs have the first walk of a seed, and if all are played, all walks of two seeds and of a chosen one. */
function isWithSdks(seed: number, number: number): boolean {
  return number === 0 || (full && (seed <= 2 || chosen !== undefined));
}

/** Those by `fetch` and those by SDKs apart: the simulator remembers the requests of either, but not of both. */
function partsOf(seed: number): { seed: number; clients: string; conversations: Conversation[] }[] {
  const raw = walksOf(seed).flatMap((walk, number) => byClients(rawKinds, { seed, number, walk }));
  const sdks = walksOf(seed)
    .map((walk, number) => ({ seed, number, walk }))
    .filter(({ number }) => isWithSdks(seed, number))
    .flatMap((each) => byClients(sdkKinds, each));
  return [
    { seed, clients: 'fetch', conversations: [...raw, ...strangeConversations(seed)].filter(isChosen) },
    { seed, clients: 'SDKs', conversations: sdks.filter(isChosen) },
  ].filter(({ conversations }) => conversations.length > 0);
}

function isChosen({ number }: Conversation): boolean {
  return chosenWalk === undefined || number === chosenWalk;
}

function byClients(
  clients: readonly Conversation['client'][],
  played: Pick<Conversation, 'seed' | 'number' | 'walk'>,
): Conversation[] {
  return clients.flatMap((client) => [false, true].map((stream) => ({ ...played, client, stream })));
}

/** Histories that are strange, by clients without an SDK. */
function strangeConversations(seed: number): Conversation[] {
  return walksOf(seed).flatMap((walk, index) =>
    byClients(rawKinds, { seed, number: firstStrange + index, walk }),
  );
}

let theatre: Theatre;
beforeAll(async () => {
  // SDKs warn of models that a vendor retires soon.
  jest.spyOn(console, 'warn').mockReturnValue();
  theatre = await openTheatre();
});
afterAll(async () => theatre.close());

it('moves between all ordered pairs of APIs', () => {
  for (const seed of seeds) expect(pairsIn(walksOf(seed)).size).toBe(apis.length * (apis.length - 1));
});

describe.each(seeds.flatMap(partsOf))(
  'conversations by the seed $seed with $clients',
  ({ conversations }) => {
    let stage: Stage;
    beforeAll(async () => {
      const { gateway, simulator } = theatre;
      simulator.reset();
      stage = { url: gateway.url, key: (await gateway.makeTenant()).userKey, simulator };
    });

    it.each(conversations.map((each) => ({ ...each, name: nameOf(each) })))('$name', async (conversation) => {
      expect(await play(stage, conversation)).toBeNull();
    });

    it('cost what the provider charges, by model and to the last digit', async () => {
      const charged = chargedByProvider(theatre.simulator.requests);
      await eventually(async () => {
        expect(await chargedByGateway(theatre.gateway, stage.key)).toEqual(charged);
      });
    });
  },
);
