import { defaultMinScore } from '@gatehouse/contract/agents';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { indexOnly } from '@gatehouse/service-memory/config';
import { noFilter } from '@gatehouse/service-memory/search/search';
import { subjectOf } from '@gatehouse/service-memory/search/small-talk';
import type { MemoryKey } from '@gatehouse/service-memory/shared/memory-key';
import { notes, unfit } from './chatty-set.ts';
import { withDatabase } from './database.ts';
import { loadMemory, searchOf, type Texts } from './recall-memory.ts';
import { memory } from './recall-set.ts';

/**
 * `make bench`: whether long-winded messages recall by words the note that they are about, in memories of 1, 10, 40 and
 * 400 passages, and how many other passages, also for messages about nothing in them.
 */

const recallLimit = 5;
const thresholds = [0.1, 0.15, 0.2, 0.25, 0.3, 0.35];

type Hits = { path: string; score: number }[];

const topics =
  'bread,chess,rivers,comets,jazz,sailing,bees,glaciers,poetry,bridges,cinema,deserts,opera,knitting,volcanoes,judo,maps,owls,tea,robots';
const turns = [
  ['Say something about X.', 'There are whole books about X, here is a short answer.'],
  ['What do you think about X?', 'I have no opinion of my own, but many people like X.'],
  ['Is it hard to learn about X?', 'It takes some time, and a good teacher helps with X.'],
  ['Could you recommend a film about X to me?', 'The best known one about X is from the eighties.'],
  ['I need a title for my talk about X.', 'How about: all you ever wanted to know about X?'],
  ['Why do people care so much about X?', 'It has been with us for hundreds of years.'],
  ['Write a poem about X for my daughter, please.', 'Roses are red, and X is my favourite thing.'],
  ['Where can I find out more about X?', 'The library of your town has a shelf on X.'],
  ['My brother talks about X all day long.', 'He seems to love X a lot. Ask him what he likes about it!'],
  ['Explain X to me in one sentence.', 'It is one of those things that are easy to see and hard to explain.'],
  ['Somebody says X is dangerous, is that right?', 'It depends, but as a rule X is quite safe.'],
  ['I am bored, give me a quiz about X.', 'Question one: when did people first write about X?'],
  ['What should I buy for somebody who likes X?', 'A book, or a ticket for a day out.'],
  ['How do I say X in French?', 'I would have to look that up for X.'],
  ['Compare X with football.', 'Both need patience, and only one needs a ball.'],
  ['I dreamt about X last night.', 'Dreams about X are said to bring luck.'],
  ['How much money is there in X these days?', 'Less than there used to be.'],
];
const smallTurns: Texts = topics
  .split(',')
  .flatMap((topic) =>
    turns.map(([user = '', assistant = ''], index): [string, string] => [
      `${topic}-${index}`,
      `User: ${user}\n\nAssistant: ${assistant}`.replaceAll('X', topic),
    ]),
  );
const noteTexts: Texts = notes.map(([path, text]) => [path, text]);

await withDatabase('memory', async ({ url }) => {
  const log = createLogger('bench', 'silent');
  const pool = createPool({ url, role: 'memory_app', max: 4, log, settings: indexOnly });
  const ofTen = Array.from({ length: 4 }, (_, at) => noteTexts.filter((_note, index) => index % 4 === at));
  const large = [...noteTexts, ...Object.entries(memory), ...smallTurns];
  const memories = [noteTexts.map((note) => [note]), ofTen, [noteTexts], [large]];
  for (const texts of memories) {
    const keys = await Promise.all(texts.map((each) => loadMemory(pool, each)));
    for (const words of [Infinity, 14]) await measure(pool, texts, { keys, words });
  }
  await pool.end();
});

/** Asks for each note in the memory that has it, and each message that fits none in one of the memories. */
async function measure(
  pool: Pool,
  memories: readonly Texts[],
  { keys, words }: { keys: readonly MemoryKey[]; words: number },
): Promise<void> {
  const search = searchOf(pool);
  const recall = async (key: MemoryKey, message: string): Promise<Hits> => {
    const asked = { users: [''], query: subjectOf(message), limit: recallLimit, mode: 'lexical' } as const;
    const run = search.run(key, { ...asked, filter: noFilter, minScore: 0 }, () =>
      Promise.reject(new Error()),
    );
    return (await run).results.map(({ path, score }) => ({ path, score }));
  };
  const asked: { wanted: string | null; hits: Hits }[] = [];
  for (const [index, texts] of memories.entries()) {
    const key = keys[index];
    if (key === undefined) continue;
    for (const [path, , message] of notes)
      if (texts.some(([present]) => present === path))
        asked.push({ wanted: path, hits: await recall(key, endOf(message, words)) });
    for (const message of unfit.filter((_message, at) => at % memories.length === index))
      asked.push({ wanted: null, hits: await recall(key, endOf(message, words)) });
  }
  print(
    asked,
    `${memories[0]?.length ?? 0} passages${words === Infinity ? '' : `, last ${words} words of each message`}`,
  );
}

function print(asked: readonly { wanted: string | null; hits: Hits }[], title: string): void {
  console.log(`\n${title}\n               found of 40   others of these   others of 40 that fit none`);
  for (const least of thresholds) {
    const over = asked.map(({ wanted, hits }) => ({
      wanted,
      hits: hits.filter(({ score }) => score >= least),
    }));
    const found = over.filter(({ wanted, hits }) => hits.some(({ path }) => path === wanted)).length;
    const others = (isFit: boolean): number =>
      over
        .filter(({ wanted }) => (wanted !== null) === isFit)
        .reduce((sum, { wanted, hits }) => sum + hits.filter(({ path }) => path !== wanted).length, 0);
    const mark = least === defaultMinScore ? '   the default' : '';
    console.log(
      `  from ${least.toFixed(2)}${[found, others(true), others(false)].map((each) => String(each).padStart(16)).join('')}${mark}`,
    );
  }
}

/** The end of a message, with its question. */
function endOf(message: string, words: number): string {
  return message.split(' ').slice(-words).join(' ');
}
